/** Links of an item that is in at most one queue. */
export type LinkedQueueItem<Self> = { before: Self | undefined; behind: Self | undefined }

/** Intrusive doubly linked list in order of arrival; any item can leave in constant time. */
export class LinkedQueue<Item extends LinkedQueueItem<Item>> {
  first: Item | undefined
  size = 0
  private last: Item | undefined

  join(item: Item): void {
    item.before = this.last
    if (this.last) this.last.behind = item
    else this.first = item
    this.last = item
    this.size += 1
  }

  /** Does nothing if the item is not in the queue. */
  leave(item: Item): void {
    if (this.first !== item && !item.before) return
    if (item.before) item.before.behind = item.behind
    else this.first = item.behind
    if (item.behind) item.behind.before = item.before
    else this.last = item.before
    item.before = undefined
    item.behind = undefined
    this.size -= 1
  }
}
