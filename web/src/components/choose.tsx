/** A list with a label from which one value is chosen; each is a value, or a value and what is shown of it. */
export function Choose(props: {
  /** Absent: a screen reader alone says what it is. */
  label?: string;
  /** What a screen reader calls it, where the label alone does not say enough. */
  name?: string;
  value: string;
  set: (value: string) => void;
  of: readonly (string | readonly [value: string, text: string])[];
  /** What the empty value is called; absent: there is none. */
  none?: string;
}) {
  const { label, name, value, set, of, none } = props;
  const list = (
    <select aria-label={name} value={value} onChange={(e) => set(e.target.value)}>
      {none !== undefined && <option value="">{none}</option>}
      {of.map((o) => {
        const [value, text] = typeof o === 'string' ? [o, o] : o;
        return (
          <option key={value} value={value}>
            {text}
          </option>
        );
      })}
    </select>
  );
  return label ? (
    <label>
      {label} {list}
    </label>
  ) : (
    list
  );
}
