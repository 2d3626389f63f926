import type { ReactNode } from 'react';
import { Tab as Head, TabList, TabPanel, Tabs as All } from 'react-aria-components';

export interface Tab {
  id: string;
  title: string;
  show: () => ReactNode;
}

/** Views of one thing, one at a time: the arrow keys go from one to the next. */
export function Tabs(props: { of: readonly Tab[]; chosen: string; choose: (id: string) => void; label: string }) {
  const { of, chosen, choose, label } = props;
  const tab = of.find((t) => t.id === chosen) ?? of[0];
  return tab ? (
    <All selectedKey={tab.id} onSelectionChange={(id) => choose(String(id))}>
      <TabList aria-label={label} className="tabs" items={of}>
        {(t) => <Head className="">{t.title}</Head>}
      </TabList>
      <TabPanel key={tab.id} id={tab.id} className="">
        {tab.show()}
      </TabPanel>
    </All>
  ) : null;
}
