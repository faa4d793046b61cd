import { bytes, toGigabytes } from '../../core/bytes.ts'
import { malformed, Refusal } from '../../core/refusal.ts'

export const tooLittleTraffic = (wanted: bigint, available: bigint): Refusal => {
  const facts = { required_gb: toGigabytes(bytes(wanted)), available_gb: toGigabytes(bytes(available)) }
  return new Refusal('insufficient_traffic', facts, { ...facts, charged: false })
}

export const trafficFull = (): Refusal => new Refusal('traffic_limit', {}, { charged: false })

export const tooMany = (field: 'counts' | 'wishes', max: number): Refusal =>
  malformed([{ field, problem: `must be at most ${max} at a time` }])

export const repeatedWish = (): Refusal => malformed([{ field: 'wishes', problem: 'must name an account once' }])
