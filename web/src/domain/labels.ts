/** A rectangle of a text on a picture, in pixels. */
interface Box {
  x: number;
  y: number;
  width: number;
  height: number;
}

/** Keeps texts of a picture from lying on each other: the first one to ask has the place. */
export class Places {
  private readonly taken: Box[] = [];

  /** Takes a place for a text around a point; false when another text is there. */
  take(x: number, y: number, width: number, height: number): boolean {
    const b = { x: x - width / 2, y: y - height / 2, width, height };
    if (
      this.taken.some((t) => b.x < t.x + t.width && t.x < b.x + b.width && b.y < t.y + t.height && t.y < b.y + b.height)
    )
      return false;
    this.taken.push(b);
    return true;
  }
}

/** What all names begin with, to the last sign that divides their parts. */
export function prefix(names: readonly string[]): string {
  let n = names[0]?.length ?? 0;
  for (const name of names) while (n > 0 && !name.startsWith(names[0]!.slice(0, n))) n--;
  return (names[0] ?? '').slice(0, n).replace(/[^-_./: ]*$/, '');
}
