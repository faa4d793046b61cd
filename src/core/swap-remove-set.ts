/** Where somebody stands in a roster; -1: nowhere. */
export type SetIndex = number
export const notInSet: SetIndex = -1

/**
 * Members that come and go by the thousand, in no order. Where each one stands is written on it, under the name given.
 *
 * A Set or a Map would do, but for this: whatever was deleted from one that is old stays alive in JavaScriptCore until
 * everything is collected, not only what is young, and what it held with it.
 */
export class SwapRemoveSet<Name extends string, Member extends { [name in Name]: SetIndex }> {
  private readonly members: Member[] = []

  constructor(private readonly name: Name) {}

  get size(): number {
    return this.members.length
  }

  has(member: Member): boolean {
    return member[this.name] !== notInSet
  }

  add(member: Member): void {
    if (this.has(member)) return
    this.seat(member, this.members.length)
  }

  /** False when it was not there. */
  delete(member: Member): boolean {
    const place = member[this.name]
    if (place === notInSet) return false
    const last = this.members.pop()
    if (last && last !== member) this.seat(last, place)
    member[this.name] = notInSet as Member[Name]
    return true
  }

  private seat(member: Member, place: SetIndex): void {
    this.members[place] = member
    member[this.name] = place as Member[Name]
  }

  /** Visits each. Whoever is visited may leave, and so may others; whoever comes meanwhile is not visited. */
  forEach(visit: (member: Member) => void): void {
    for (let place = this.members.length - 1; place >= 0; place -= 1) {
      const member = this.members[place]
      if (member) visit(member)
    }
  }
}
