import { useQuery } from '@tanstack/react-query';
import * as ask from '../api/queries';
import { Conditions, Messages } from '../components/badge';
import { Delete } from '../components/delete';
import { Documented } from '../components/documented';
import { Facts, Heading } from '../components/facts';
import { Open } from '../components/form';
import { Names, Resources, To } from '../components/link';
import { Answer } from '../components/states';
import { Table } from '../components/table';
import { useEditing } from '../store/draft';
import { Lossless } from './pfc';
import { Edit } from './policies';

export function Srv6Policies({ path }: { path: string[] }) {
  return path[0] === undefined ? <Lossless /> : <One name={path[0]} />;
}

function One({ name }: { name: string }) {
  const policy = useQuery(ask.srv6Policy(name));
  const [editing, setEditing] = useEditing('form', 'srv6-policies', name);
  return (
    <Answer of={policy} what={`SRv6 policy ${name}`} gone={<Documented collection="srv6-policies" name={name} />}>
      {(p) => (
        <>
          <Heading title={`SRv6 policy ${name}`} state={<Conditions of={p.status.conditions} />}>
            <Open scope="configure" label="Change…" open={() => setEditing(true)} />
            <Delete collection="srv6-policies" name={name} />
          </Heading>
          <Messages of={p.status.conditions} />
          <p>
            From <To path={['switches', p.spec.headend]}>{p.spec.headend}</To> to{' '}
            <To path={['switches', p.spec.endpoint]}>{p.spec.endpoint}</To>
            {p.spec.segments?.length
              ? ' over the segments of its document'
              : `, the way that is shortest by ${p.spec.metric || 'igp'}`}
            .
          </p>
          <h2>Its path</h2>
          {p.status.path?.length ? (
            <ol className="path" aria-label="Path">
              {p.status.path.map((s) => (
                <li key={s}>
                  <To path={['switches', s]}>{s}</To>
                </li>
              ))}
            </ol>
          ) : (
            <p className="state">There is none now.</p>
          )}
          <h2>Segments in force</h2>
          <Table
            rows={p.status.segmentList ?? []}
            id={(s) => s.sid}
            label={`Segments of ${name}`}
            empty="There is none."
            columns={[
              { name: 'Switch', key: (s) => s.node, cell: (s) => <To path={['switches', s.node]}>{s.node}</To> },
              { name: 'SID', key: (s) => s.sid, cell: (s) => <code>{s.sid}</code>, width: 1.6 },
              { name: 'Behavior', key: (s) => s.behavior, width: 1.6 },
            ]}
          />
          <Facts
            label={`SRv6 policy ${name}`}
            of={[
              ['Encapsulation', p.spec.mode === 'best-effort' ? 'the last SID alone' : 'an SRH with all segments'],
              ['PFC at', p.status.pfcNodes?.length && <Names of={p.status.pfcNodes} page="switches" />],
              ['Used by', p.status.usedBy?.length && <Resources of={p.status.usedBy} />],
              ['Version', p.version],
              ['Created', p.created],
            ]}
          />
          <Documented collection="srv6-policies" name={name} of={p} />
          {editing && <Edit of={{ kind: 'srv6-policies', of: p }} close={() => setEditing(false)} />}
        </>
      )}
    </Answer>
  );
}
