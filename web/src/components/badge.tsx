import type { ReactNode } from 'react';
import type { Schemas } from '../api/client';

export type Tone = 'ok' | 'warning' | 'fault' | 'work' | 'quiet';

export const shapes: Record<Tone, string> = { ok: '●', warning: '▲', fault: '✕', work: '◆', quiet: '○' };

/** A state by shape, colour and text. */
export function Badge({ tone, children, title }: { tone: Tone; children: ReactNode; title?: string }) {
  return (
    <span className={`badge ${tone}`} title={title}>
      <span aria-hidden="true">{shapes[tone]}</span> {children}
    </span>
  );
}

/** The conditions of a resource, each with its reason. */
export function Conditions({ of }: { of: Schemas['GroupCondition'][] | null | undefined }) {
  if (!of?.length) return <Badge tone="quiet">unknown</Badge>;
  return (
    <span className="badges">
      {of.map((c) => {
        const good = c.type === 'Degraded' ? !c.status : c.status;
        return (
          <Badge key={c.type} tone={good ? 'ok' : c.type === 'Programmed' ? 'warning' : 'fault'} title={c.message}>
            {c.type}: {c.status ? 'yes' : 'no'} ({c.reason})
          </Badge>
        );
      })}
    </span>
  );
}

/** One badge for all conditions. */
export function Summary({ of }: { of: Schemas['GroupCondition'][] | null | undefined }) {
  const get = (type: string) => of?.find((c) => c.type === type);
  const accepted = get('Accepted'),
    programmed = get('Programmed'),
    degraded = get('Degraded');
  if (accepted && !accepted.status)
    return (
      <Badge tone="fault" title={accepted.message}>
        not accepted: {accepted.reason}
      </Badge>
    );
  if (degraded?.status)
    return (
      <Badge tone="fault" title={degraded.message}>
        degraded: {degraded.reason}
      </Badge>
    );
  if (programmed && !programmed.status)
    return (
      <Badge tone="warning" title={programmed.message}>
        not programmed: {programmed.reason}
      </Badge>
    );
  if (!of?.length) return <Badge tone="quiet">unknown</Badge>;
  return <Badge tone="ok">well</Badge>;
}
