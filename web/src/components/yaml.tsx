import { useQuery } from '@tanstack/react-query';
import { useEffect, useMemo, useState, type RefObject } from 'react';
import type { ApiError } from '../api/client';
import * as ask from '../api/queries';
import { documentSchema } from '../domain/completion';
import { readDocument, yamlOf, type Fault } from '../domain/document';
import { formatExact, parseExact } from '../domain/json';
import { kindOf, type Collection } from '../domain/kinds';
import type { Spec } from '../domain/spec';
import type { Draft } from '../store/draft';
import { Diff } from './diff';
import Editor from './editor';

/** A draft as YAML: what is not as the controller wants it is named with its line. */
export default function Yaml(props: {
  collection: Collection;
  draft: Draft;
  change: (d: Partial<Draft>) => void;
  /** What the controller has refused. */
  refused?: ApiError;
  /** Set to what reports whether the text can be read, and shows where it cannot. */
  check: RefObject<(() => boolean) | undefined>;
}) {
  const { collection, draft, change, refused, check } = props;
  const kind = kindOf(collection)!,
    name = draft.from?.name ?? '';
  const api = useQuery(ask.openApi);
  const schema = useMemo(
    () => (api.data ? documentSchema(api.data, collection, kind.kind) : undefined),
    [api.data, collection, kind.kind],
  );
  const text = useMemo(() => draft.text ?? yamlOf(collection, draft.name, draft.spec), [collection, draft]);
  const read = useMemo(() => readDocument(text, kind.kind, name), [text, kind.kind, name]);
  const [line, setLine] = useState<{ number: number }>();
  const [tries, setTries] = useState(false);
  useEffect(() => {
    check.current = () => {
      setTries(true);
      if (read.faults[0]?.line) setLine({ number: read.faults[0].line });
      return read.doc !== undefined;
    };
    return () => void (check.current = undefined);
  });
  const faults: Fault[] = [
    ...(tries ? read.faults : []),
    ...(refused?.problem.errors ?? []).map((e) => ({
      line: read.lineOf(e.field),
      text: `${e.field} is ${e.value}: want ${e.want}`,
    })),
  ];
  const before = draft.from && yamlOf(collection, name, draft.from.spec);
  return (
    <>
      <Editor
        text={text}
        change={(t) => {
          const { doc } = readDocument(t, kind.kind, name);
          // Whole numbers are those of JSON again: only large ones are BigInts.
          const spec = doc && (parseExact(formatExact(doc.spec)) as Spec);
          change(doc ? { text: t, name: doc.name, spec, broken: false } : { text: t, broken: true });
        }}
        label={name ? `${name} as YAML` : `New ${kind.noun} as YAML`}
        api={api.data}
        schema={schema}
        wrong={faults.length > 0}
        line={line}
      />
      {faults.length > 0 && (
        <div role="alert">
          <ul className="faults">
            {faults.map((f, i) => (
              <li key={i}>
                {f.line && (
                  <button type="button" onClick={() => setLine({ number: f.line! })}>
                    Line {f.line}
                  </button>
                )}{' '}
                <span className="wrong">✕ {f.text}</span>
              </li>
            ))}
          </ul>
        </div>
      )}
      {before !== undefined && (
        <>
          <h3>What you change</h3>
          <Diff before={before} after={text} label="What you change" />
        </>
      )}
    </>
  );
}
