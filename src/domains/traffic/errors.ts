import { bytes, toGigabytes } from '../../kernel/bytes.ts'
import { malformed, Refusal } from '../../kernel/refusal.ts'

export const tooLittleTraffic = (wanted: bigint, available: bigint): Refusal => {
  const [required, left] = [toGigabytes(bytes(wanted)), toGigabytes(bytes(available))]
  return new Refusal('conflict', 'conflict', `This takes ${required} GB of traffic and ${left} GB are free.`, {
    required_gb: required,
    available_gb: left,
    charged: false,
  })
}

export const trafficFull = (): Refusal =>
  new Refusal('conflict', 'conflict', 'A sub-user cannot hold more traffic than 8,000,000 GB in a pool.', {
    charged: false,
  })

export const tooManyCounts = (most: number): Refusal =>
  malformed([{ field: 'counts', problem: `must be at most ${most} at a time` }])

export const repeatedWish = (): Refusal => malformed([{ field: 'wishes', problem: 'must name an account once' }])

export const tooManyWishes = (most: number): Refusal =>
  malformed([{ field: 'wishes', problem: `must be at most ${most} at a time` }])
