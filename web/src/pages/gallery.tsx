import { useState } from 'react';
import { Badge, shapes, Summary, type Tone } from '../components/badge';
import { Dialog } from '../components/dialog';
import { Facts, Heading } from '../components/facts';
import { Pick } from '../components/pick';
import { LoadLegend, StateLegend } from '../components/statelegend';
import { Empty, Failure, Loading } from '../components/states';
import { Table } from '../components/table';
import { Tabs } from '../components/tabs';
import { ApiError } from '../api/client';

const refused = new ApiError(
  422,
  { code: 'invalid', instance: 'urn:weft:request:1' },
  'spec.designatedQpn is 4096000000: want at most 16777215',
);
const rows = [
  { name: 'P1-T0-1', links: 8 },
  { name: 'P1-T0-2', links: 4096 },
];

/** The components of all pages in each of their states, for those who change them. */
export function Gallery() {
  const [tab, setTab] = useState('yaml'),
    [chosen, setChosen] = useState<string[]>(['P1-T0-1']),
    [open, setOpen] = useState(false);
  return (
    <>
      <Heading title="Gallery" state={<Badge tone="quiet">components in each state</Badge>}>
        <button type="button" className="main">
          Main
        </button>
        <button type="button" onClick={() => setOpen(true)}>
          Open a dialog…
        </button>
        <button type="button" className="danger">
          Delete…
        </button>
        <button type="button" disabled>
          Not now
        </button>
      </Heading>
      {open && (
        <Dialog title="A dialog" close={() => setOpen(false)}>
          <p>It asks before something is done.</p>
        </Dialog>
      )}
      <h2>States</h2>
      <p className="badges">
        {(Object.keys(shapes) as Tone[]).map((tone) => (
          <Badge key={tone} tone={tone}>
            {tone}
          </Badge>
        ))}
        <Summary of={undefined} />
      </p>
      <p>
        <StateLegend /> <LoadLegend full="the speed of the port" measured />
      </p>
      <p className="verdict ok">
        <strong>● GO</strong> All that the job depends on is known to be good.
      </p>
      <p className="verdict fault">
        <strong>✕ NO-GO</strong> A cause is in the way.
      </p>
      <h2>Answers</h2>
      <Loading what="what is asked for" />
      <Empty>There is none.</Empty>
      <Failure error={refused} retry={() => undefined} />
      <h2>Cards, facts and tables</h2>
      <section className="cards">
        {['', ' less'].map((less) => (
          <a key={less} className={`card${less}`} href="#/gallery">
            <span className="title">Switches</span> <span className="figure">{less ? '15 of 16' : '16'}</span>{' '}
            <span className="quiet">connected</span>
          </a>
        ))}
      </section>
      <Facts
        label="Facts"
        of={[
          ['Virtual address', <code key="va">18446612682070000641</code>],
          ['Ports', '7 of 8 up'],
        ]}
      />
      <h3>A table</h3>
      <Table
        rows={rows}
        id={(r) => r.name}
        label="A table"
        selected="P1-T0-2"
        columns={[
          { name: 'Switch', key: (r) => r.name },
          { name: 'Links', key: (r) => r.links, number: true },
        ]}
      />
      <h2>Fields</h2>
      <p className="field">
        <label htmlFor="gallery-good">A field</label>
        <input id="gallery-good" defaultValue="4096" />
        <span className="quiet">What it means.</span>
      </p>
      <p className="field">
        <label htmlFor="gallery-wrong">Another</label>
        <input id="gallery-wrong" aria-invalid defaultValue="4096000000" />
        <span className="wrong">✕ is 4096000000: want at most 16777215</span>
      </p>
      <Pick
        label="Several of many"
        from={rows.map((r) => ({ value: r.name }))}
        chosen={chosen}
        add={(more) => setChosen([...chosen, ...more])}
        remove={(one) => setChosen(chosen.filter((c) => c !== one))}
      />
      <Tabs
        label="Tabs"
        chosen={tab}
        choose={setTab}
        of={['YAML', 'History'].map((title) => ({
          id: title.toLowerCase(),
          title,
          show: () => <p>What the tab {title} shows.</p>,
        }))}
      />
    </>
  );
}
