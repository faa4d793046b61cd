/** A figure at a time, or at a count. */
export type Point = { readonly x: number; readonly y: number }

const mean = (values: readonly number[]): number => values.reduce((sum, each) => sum + each, 0) / values.length

/**
 * The slope of the least squares, over several runs of which each has its own level: a process that was started again
 * begins lower, which says nothing of its growth. NaN without two different x within a run.
 */
export function slopeOf(...runs: readonly (readonly Point[])[]): number {
  let [product, square] = [0, 0]
  for (const points of runs) {
    const [meanX, meanY] = [mean(points.map(({ x }) => x)), mean(points.map(({ y }) => y))]
    for (const { x, y } of points) {
      product += (x - meanX) * (y - meanY)
      square += (x - meanX) ** 2
    }
  }
  return product / square
}
