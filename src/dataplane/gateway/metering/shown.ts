/** What the system tells of a connection to a customer, in bytes since it began unless said otherwise. */
export type Transmission = {
  /** What the customer's machine has acknowledged without a gap; one more once it has acknowledged the end. */
  readonly acknowledged: number
  /** What has gone out at least once. What stands in the system's buffer has not. */
  readonly sent: number
  /** Segments that it says it has, beyond a gap (RFC 2018). */
  readonly selectedSegments: number
  /** Segments that have gone out and of which it has said nothing; one too many rather than one too few. */
  readonly unknownSegments: number
  /** The most bytes that a segment carries. */
  readonly segmentBytes: number
  /** Reset, or closed by both. What was not acknowledged by then never will be. */
  readonly isOver: boolean
}

/**
 * What the customer's machine has shown that it has, in whichever way: without a gap, or selectively beyond one. The
 * system counts selective acknowledgements in segments, and a segment may be shorter than the longest: so this is the
 * least that they can stand for, and nobody is billed for what he did not get.
 */
export function shownOf(transmission: Transmission): number {
  const { acknowledged, sent, selectedSegments, unknownSegments, segmentBytes } = transmission
  const beyond = Math.max(0, sent - acknowledged - unknownSegments * segmentBytes)
  return acknowledged + Math.min(beyond, selectedSegments * segmentBytes)
}

/**
 * The same of what was meant, where so many bytes were put around all that was written: those count as having gone out
 * first, so that nobody is billed for what he did not get.
 */
export const unwrapped = (transmission: Transmission, wrapping: number): Transmission => ({
  ...transmission,
  acknowledged: Math.max(0, transmission.acknowledged - wrapping),
  sent: Math.max(0, transmission.sent - wrapping),
})

/** Of a descriptor that is not a connection's any more. */
export const nothingShown: Transmission = {
  acknowledged: 0,
  sent: 0,
  selectedSegments: 0,
  unknownSegments: 0,
  segmentBytes: 0,
  isOver: true,
}
