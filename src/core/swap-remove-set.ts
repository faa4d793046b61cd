/** Position of a member in a SwapRemoveSet; -1 if it is in none. */
export type SetIndex = number
export const notInSet: SetIndex = -1

/**
 * Unordered set in an array; each member stores its own index under the given name. Unlike a Set or Map, it does not
 * keep deleted members alive in JavaScriptCore until the next full collection.
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
    if (!this.has(member)) this.seat(member, this.members.length)
  }

  /** False if it was not in the set. */
  delete(member: Member): boolean {
    const index = member[this.name]
    if (index === notInSet) return false
    const last = this.members.pop()
    if (last && last !== member) this.seat(last, index)
    member[this.name] = notInSet as Member[Name]
    return true
  }

  private seat(member: Member, index: SetIndex): void {
    this.members[index] = member
    member[this.name] = index as Member[Name]
  }

  /** Visits each member. Members may be deleted meanwhile; added ones are not visited. */
  forEach(visit: (member: Member) => void): void {
    for (let index = this.members.length - 1; index >= 0; index -= 1) {
      const member = this.members[index]
      if (member) visit(member)
    }
  }
}
