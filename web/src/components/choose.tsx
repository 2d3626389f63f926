import type { ComponentProps } from 'react';
import type { Choice } from '../domain/fields';

interface SelectProps extends Omit<ComponentProps<'select'>, 'value'> {
  value: string;
  set: (value: string) => void;
  of: readonly Choice[];
  /** What the empty value is called; absent: there is none once a value is chosen. */
  none?: string;
}

/** A list from which one value is chosen; a value that is not in the list is in it while it is chosen. */
export function Select({ value, set, of, none, ...rest }: SelectProps) {
  const known = value === '' || of.some((c) => c.value === value);
  return (
    <select {...rest} value={value} onChange={(e) => set(e.target.value)}>
      {(none !== undefined || value === '') && <option value="">{none ?? 'choose'}</option>}
      {(known ? of : [{ value }, ...of]).map((c: Choice) => (
        <option key={c.value} value={c.value}>
          {c.label ?? c.value}
        </option>
      ))}
    </select>
  );
}

/** A list with a label, of values that are shown as they are, with what is shown of them, or as a record of both. */
export function Choose(props: {
  /** Absent: a screen reader alone says what it is. */
  label?: string;
  /** What a screen reader calls it, where the label alone does not say enough. */
  name?: string;
  value: string;
  set: (value: string) => void;
  of: readonly (string | readonly [value: string, text: string])[] | Readonly<Record<string, string>>;
  none?: string;
}) {
  const { label, name, of, ...rest } = props;
  const choices = (Array.isArray(of) ? of : Object.entries(of)).map((o): Choice =>
    typeof o === 'string' ? { value: o } : { value: o[0], label: o[1] },
  );
  const list = <Select aria-label={name} of={choices} {...rest} />;
  return label ? (
    <label>
      {label} {list}
    </label>
  ) : (
    list
  );
}
