import { bytes, toGigabytes } from '../../core/bytes.ts'
import { Refusal, refuseField } from '../../core/refusal.ts'

export const tooLittleTraffic = (wanted: bigint, available: bigint): Refusal => {
  const facts = { required_gb: toGigabytes(bytes(wanted)), available_gb: toGigabytes(bytes(available)) }
  return new Refusal('insufficient_traffic', facts, { ...facts, charged: false })
}

export const trafficFull = (): Refusal => new Refusal('traffic_limit', {}, { charged: false })

export const tooMany = (field: 'counts' | 'lease_requests', max: number): Refusal =>
  refuseField(field, 'max_items', { max })

export const repeatedRequest = (): Refusal => refuseField('lease_requests', 'duplicates')
