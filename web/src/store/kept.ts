/** A text that the browser keeps for this user, '' for none; in a browser that keeps nothing, for this page. */
export function kept(key: string) {
  let value = '';
  const tried = <T>(what: () => T) => {
    try {
      return what();
    } catch {
      return undefined;
    }
  };
  value = tried(() => window.localStorage.getItem(key)) ?? '';
  return {
    get: () => value,
    set(text: string) {
      value = text;
      tried(() => (text ? window.localStorage.setItem(key, text) : window.localStorage.removeItem(key)));
    },
  };
}
