import type { ReactNode } from 'react';
import type { Schemas } from '../api/client';
import { conditionText, isGood } from '../domain/condition';

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

/** The conditions of a resource, in words; those that are not good with their reason. */
export function Conditions({ of }: { of: Schemas['GroupCondition'][] | null | undefined }) {
  if (!of?.length) return <Badge tone="quiet">unknown</Badge>;
  return (
    <span className="badges">
      {of.map((c) => (
        <Badge key={c.type} tone={isGood(c) ? 'ok' : c.type === 'Programmed' ? 'warning' : 'fault'} title={c.message}>
          {conditionText(c)}
        </Badge>
      ))}
    </span>
  );
}

/** One badge for all conditions. */
export function Summary({ of }: { of: Schemas['GroupCondition'][] | null | undefined }) {
  const is = (type: string, bad: boolean) => of?.find((c) => c.type === type && c.status === bad);
  const refused = is('Accepted', false) ?? is('Degraded', true),
    first = refused ?? is('Programmed', false);
  if (first)
    return (
      <Badge tone={refused ? 'fault' : 'warning'} title={first.message}>
        {conditionText(first)}
      </Badge>
    );
  return of?.length ? <Badge tone="ok">well</Badge> : <Badge tone="quiet">unknown</Badge>;
}

/** What conditions say. */
export function Messages({ of }: { of: readonly Schemas['GroupCondition'][] | null | undefined }) {
  return (of ?? [])
    .filter((c) => c.message)
    .map((c) => (
      <p key={c.type}>
        {c.type}: {c.message}
      </p>
    ));
}
