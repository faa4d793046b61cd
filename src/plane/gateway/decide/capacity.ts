/** A customer's socket, an origin's, and one more to learn what has arrived. */
const filesOfConnection = 3
/** For the shop, the journal, names, and those who are only told that there is no room. */
const reserveShare = 0.1
const leastReserve = 64
const leastConnections = 8
/** Each port that stands for a customer is a file, whether anybody comes to it or not. */
const portShare = 0.1
const leastPorts = 8

/** How many connections can be carried at once, and how many ports opened that stand for customers. */
export type Room = { readonly connections: number; readonly ports: number }

/**
 * As many connections as the operator allows, and no more of both than the process may have files open for. Whoever
 * runs into that limit can answer nobody, not even to say no.
 */
export function roomWithin(wanted: number, files: number): Room {
  if (!Number.isFinite(files)) return { connections: wanted, ports: Number.POSITIVE_INFINITY }
  const reserve = Math.max(leastReserve, Math.ceil(files * reserveShare))
  const ports = Math.max(leastPorts, Math.floor(files * portShare))
  const carried = Math.floor((files - reserve - ports) / filesOfConnection)
  return { connections: Math.min(wanted, Math.max(leastConnections, carried)), ports }
}
