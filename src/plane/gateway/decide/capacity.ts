/** A customer's socket, an origin's, and one more to learn what has arrived. */
const filesOfConnection = 3
/** For the shop, the journal, names, ports of customers, and those who are only told that there is no room. */
const reserveShare = 0.1
const leastReserve = 64
const leastConnections = 8

/**
 * How many connections can be carried at once: as many as the operator allows, and no more than the process may have
 * files open for. Whoever runs into that limit can answer nobody, not even to say no.
 */
export function connectionsWithin(wanted: number, files: number): number {
  if (!Number.isFinite(files)) return wanted
  const reserve = Math.max(leastReserve, Math.ceil(files * reserveShare))
  return Math.min(wanted, Math.max(leastConnections, Math.floor((files - reserve) / filesOfConnection)))
}
