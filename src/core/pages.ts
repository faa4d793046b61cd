/**
 * Reads all there is, a page at a time, each from just past the last item of the page before. A page that is not full
 * is the last. What is added meanwhile behind the place that was reached is read too; nothing is read twice.
 */
export async function* pagesOf<Item, Key>(
  read: (after: Key, limit: number) => Promise<readonly Item[]>,
  from: { readonly start: Key; readonly size: number; readonly keyOf: (item: Item) => Key },
): AsyncGenerator<readonly Item[], void, undefined> {
  let after = from.start
  for (;;) {
    const page = await read(after, from.size)
    if (page.length > 0) yield page
    const last = page.at(-1)
    if (last === undefined || page.length < from.size) return
    after = from.keyOf(last)
  }
}
