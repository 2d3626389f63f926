/** The red, green and blue of a colour of the style sheet: #rrggbb, or #rgb, which is shorter. */
export function channels(colour: string): [number, number, number] {
  const digits = colour.slice(1);
  const n = parseInt(digits.length === 3 ? [...digits].map((d) => d + d).join('') : digits, 16);
  return [n >> 16, (n >> 8) & 255, n & 255];
}

/** Mixes two colours: share 0 is the first, 1 the second. */
export function mix(a: string, b: string, share: number): string {
  const x = channels(a),
    y = channels(b);
  return `#${x
    .map((v, i) =>
      Math.round(v + (y[i]! - v) * share)
        .toString(16)
        .padStart(2, '0'),
    )
    .join('')}`;
}
