import { useQuery } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import { ApiError } from '../api/client';
import * as ask from '../api/queries';
import { metricText, summary, views, type HistoryKind } from '../domain/history';
import { useSpan } from '../store/past';
import { Chart } from './chart';
import { Answer, Empty } from './states';
import { Section } from './facts';

/** What an object did, as charts of the metrics that belong together, over the time of the page. */
export function History({
  kind,
  name,
  only,
  title = (view) => view,
  absent = 'The controller has measured nothing of it in the last 24 hours.',
}: {
  kind: HistoryKind;
  name: string;
  /** These views of it; all when absent. */
  only?: readonly string[];
  /** What a view is called, where there are charts of several objects. */
  title?: (view: string) => string;
  /** What is said where there is no history. */
  absent?: string;
}) {
  const { span, from, to, live } = useSpan();
  const history = useQuery(ask.history(kind, name, live && 'last' in span ? span.last : { from, to }));
  // What has never been measured is not an error, nor something that is gone.
  if (history.error instanceof ApiError && history.error.status === 404) return <Empty>{absent}</Empty>;
  // Beside traffic, losses have a chart where there were some.
  const lost = (history.data?.series ?? []).filter((s) => views[kind].losses?.(s.metric)),
    none = only?.includes('losses') && lost.length > 0 && lost.every((s) => !summary(s.values)?.most);
  return (
    <Answer of={history} what="the history">
      {(h) =>
        h.series.length === 0 ? (
          <Empty>Nothing was measured in this time.</Empty>
        ) : (
          <>
            {Object.entries(views[kind])
              .filter(([view]) => !only || only.includes(view))
              .map(([view, has]) => {
                const series = h.series.filter((s) => has(s.metric));
                if (series.length === 0 && Object.keys(views[kind]).length > 1) return null;
                if (view === 'losses' && none) return null;
                return (
                  <Chart
                    key={view}
                    label={`${view} of ${name}`}
                    title={title(view)}
                    times={h.times}
                    step={h.step}
                    speed={view === 'traffic' ? h.speed : undefined}
                    series={series.map((s) => ({ label: metricText(s.metric), unit: s.unit, values: s.values ?? [] }))}
                    note={none && 'No losses.'}
                  />
                );
              })}
          </>
        )
      }
    </Answer>
  );
}

/** The history of a port in a box of its own, with the time that it is of. */
export function PortHistory({ name, children }: { name: string; children?: ReactNode }) {
  return (
    <section className="chosen" aria-label={`History of port ${name}`}>
      <header>
        <h2>What port {name} did</h2>
      </header>
      <div className="charts">
        <History kind="port" name={name} />
      </div>
      {children}
    </section>
  );
}

/** What ports carried and lost, each by its name SWITCH/PORT with what the page calls it. */
export function PortCharts({ of, label }: { of: readonly (readonly [name: string, title: string])[]; label: string }) {
  if (of.length === 0) return null;
  return (
    <Section title={label} label={label} charts>
      {of.map(([name, title]) => (
        <History
          key={name}
          kind="port"
          name={name}
          only={['traffic', 'losses']}
          title={(view) => `${title}: ${view}`}
          absent={`The controller has measured nothing of ${title} in the last 24 hours.`}
        />
      ))}
    </Section>
  );
}
