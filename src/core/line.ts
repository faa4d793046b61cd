/** Somebody who stands in one line at most, and knows who is next to him. */
export type InLine<Self> = { before: Self | undefined; behind: Self | undefined }

/** Members in the order in which they came, of whom any may leave at any time. For why not a Set: see `Roster`. */
export class Line<Member extends InLine<Member>> {
  first: Member | undefined
  size = 0
  private last: Member | undefined

  join(member: Member): void {
    member.before = this.last
    if (this.last) this.last.behind = member
    else this.first = member
    this.last = member
    this.size += 1
  }

  /** Nothing happens to one that is not in line. */
  leave(member: Member): void {
    if (this.first !== member && !member.before) return
    if (member.before) member.before.behind = member.behind
    else this.first = member.behind
    if (member.behind) member.behind.before = member.before
    else this.last = member.before
    member.before = undefined
    member.behind = undefined
    this.size -= 1
  }
}
