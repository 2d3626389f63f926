/** A field for the text that rows have to contain, and how many there are. */
export function Contains({ search, set, what }: { search: string; set: (text: string) => void; what: string }) {
  return (
    <>
      <label>
        Contains <input type="search" value={search} onChange={(e) => set(e.target.value)} />
      </label>
      <span className="quiet">{what}</span>
    </>
  );
}
