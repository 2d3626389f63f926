import {
  acceptCompletion,
  autocompletion,
  completionKeymap,
  completionStatus,
  selectedCompletion,
  startCompletion,
  type CompletionSource,
} from '@codemirror/autocomplete';
import { defaultKeymap, history, historyKeymap, insertNewlineAndIndent } from '@codemirror/commands';
import { yaml } from '@codemirror/lang-yaml';
import { HighlightStyle, indentService, syntaxHighlighting } from '@codemirror/language';
import { EditorSelection, EditorState } from '@codemirror/state';
import { EditorView, keymap, lineNumbers } from '@codemirror/view';
import { tags } from '@lezer/highlight';
import { useEffect, useId, useRef, useState } from 'react';
import { complete, type OpenApi, type Schema } from '../domain/completion';

const colours = HighlightStyle.define([
  { tag: [tags.propertyName, tags.definition(tags.propertyName)], color: 'var(--accent)' },
  { tag: tags.string, color: 'var(--ok)' },
  { tag: [tags.lineComment, tags.punctuation, tags.separator], color: 'var(--quiet)' },
]);
const look = EditorView.theme({
  '&': { fontSize: 'var(--text-small)', maxHeight: '60vh', minHeight: '14rem' },
  '&.cm-focused': { outline: 'none' },
  '.cm-scroller': { fontFamily: 'var(--mono)', lineHeight: 'var(--leading-code)' },
  '.cm-content': { caretColor: 'var(--ink)' },
  '&.cm-focused .cm-cursor': { borderLeftColor: 'var(--ink)' },
  '.cm-gutters': { background: 'none', border: 'none', color: 'var(--quiet)' },
  '.cm-tooltip': {
    background: 'var(--raised)',
    color: 'var(--ink)',
    border: 'var(--edge) solid var(--line)',
    borderRadius: 'var(--radius-small)',
    boxShadow: 'var(--raised-far)',
  },
  '.cm-tooltip.cm-tooltip-autocomplete > ul > li': { padding: 'var(--space-1) var(--space-3)' },
  '.cm-tooltip.cm-tooltip-autocomplete > ul > li[aria-selected]': {
    background: 'var(--hover)',
    color: 'var(--accent)',
  },
});

/**
 * An editor of documents, by CodeMirror. It suggests the fields and values that the schema has at the caret:
 * while one types, or by Ctrl and the space bar. Its styles are sheets of a shadow root: the policy of the
 * page allows no style element.
 */
export default function Editor(props: {
  text: string;
  change: (text: string) => void;
  label: string;
  api?: OpenApi;
  schema?: Schema;
  wrong: boolean;
  /** Where the caret is to go, anew with each object. */
  line?: { number: number };
}) {
  const { text, change, label, api, schema, wrong, line } = props;
  const box = useRef<HTMLDivElement>(null),
    view = useRef<EditorView>(undefined),
    id = useId();
  const [about, setAbout] = useState<string>();
  const latest = useRef({ change, api, schema });
  useEffect(() => {
    latest.current = { change, api, schema };
  });
  useEffect(() => {
    const at = (state: EditorState, pos: number) => {
      const { api: a, schema: s } = latest.current;
      return a && s ? complete(a, s, state.doc.toString(), pos) : undefined;
    };
    const source: CompletionSource = ({ state, pos, explicit }) => {
      const found = at(state, pos);
      if (!found?.suggestions.length || !(explicit || /[\w: ]/.test(state.sliceDoc(pos - 1, pos)))) return null;
      return {
        from: found.from,
        to: found.to,
        filter: false,
        options: found.suggestions.map((s) => ({
          label: s.text,
          apply: s.insert,
          detail: s.required ? 'required' : undefined,
          info: s.about,
        })),
      };
    };
    const root = box.current!.shadowRoot ?? box.current!.attachShadow({ mode: 'open' });
    const made = new EditorView({
      doc: text,
      root,
      parent: root,
      extensions: [
        lineNumbers(),
        history(),
        yaml(),
        syntaxHighlighting(colours),
        look,
        indentService.of((cx, pos) => {
          const before = cx.lineAt(pos, -1).text;
          return /^ */.exec(before)![0].length + (/:\s*$/.test(before) ? 2 : 0);
        }),
        autocompletion({
          override: [source],
          selectOnOpen: false,
          icons: false,
          activateOnCompletion: (c) => typeof c.apply === 'string' && c.apply.endsWith(': '),
        }),
        EditorState.phrases.of({ Completions: 'Suggestions' }),
        EditorView.contentAttributes.of({ 'aria-label': label, 'aria-describedby': id }),
        // Tab takes a suggestion that is chosen, and goes on otherwise: nobody is caught in the text.
        keymap.of([
          { key: 'Tab', run: (v) => selectedCompletion(v.state) !== null && acceptCompletion(v) },
          { key: 'Ctrl-Space', run: startCompletion },
          ...completionKeymap,
          ...historyKeymap,
          { key: 'Enter', run: insertNewlineAndIndent },
          ...defaultKeymap,
        ]),
        // Escape closes the suggestions, and not a dialog around the text.
        EditorView.domEventHandlers({
          keydown: (e, v) => void (e.key === 'Escape' && completionStatus(v.state) && e.stopPropagation()),
          // Chromium would give what replaces several lines a style attribute, which the policy forbids.
          beforeinput: (e, v) => {
            if (e.inputType !== 'insertText' || !e.data || v.state.selection.main.empty) return false;
            v.dispatch(v.state.replaceSelection(e.data), { userEvent: 'input.type' });
            e.preventDefault();
            return true;
          },
        }),
        EditorView.updateListener.of((u) => {
          if (u.docChanged) latest.current.change(u.state.doc.toString());
          if (u.docChanged || u.selectionSet) setAbout(at(u.state, u.state.selection.main.head)?.about);
        }),
      ],
    });
    view.current = made;
    made.focus();
    return () => made.destroy();
    // The text is that of the editor from here on; a text that begins anew is another editor.
    // eslint-disable-next-line react-hooks/exhaustive-deps
  }, [label, id]);
  useEffect(() => view.current?.contentDOM.setAttribute('aria-invalid', String(wrong)), [wrong]);
  useEffect(() => {
    const v = view.current;
    if (!line || !v) return;
    const { from, to } = v.state.doc.line(Math.min(line.number, v.state.doc.lines));
    v.dispatch({ selection: EditorSelection.single(from, to), scrollIntoView: true });
    v.focus();
  }, [line]);
  return (
    <>
      <div className="editor frame" ref={box} />
      <p className="quiet">{about ?? 'Ctrl and space suggest what may stand here.'}</p>
    </>
  );
}
