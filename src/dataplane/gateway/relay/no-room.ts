/** So many ports stay closed: each is a file, and without files left nobody could be answered. */
export const noRoom = (left: number, most: number): Error =>
  new Error(`no room for ${left} ports of customers: at most ${most} within the limit of open files (ulimit -n)`)
