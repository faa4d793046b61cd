import type { Premium } from '../../../domains/premium/index.ts'
import { type Bound, bind } from '../../bind.ts'
import { readPlaces, readSubuser } from './reading.ts'
import {
  getUsage,
  listAsns,
  listCities,
  listCountries,
  listStates,
  listZipcodes,
  toAsns,
  toCities,
  toCountries,
  toStates,
  toUsage,
  toZipcodes,
} from './shapes-places.ts'

export function placeOperations({ exits, usage }: Premium): readonly Bound[] {
  return [
    bind(listCountries, async ({ body }) =>
      toCountries(body.pool_type, await exits.places(body.pool_type, 'countries', readPlaces({}))),
    ),
    bind(listStates, async ({ body }) =>
      toStates(body.pool_type, await exits.places(body.pool_type, 'states', readPlaces(body))),
    ),
    bind(listCities, async ({ body }) =>
      toCities(body.pool_type, await exits.places(body.pool_type, 'cities', readPlaces(body))),
    ),
    bind(listZipcodes, async ({ body }) =>
      toZipcodes(body.pool_type, await exits.places(body.pool_type, 'zips', readPlaces(body))),
    ),
    bind(listAsns, async ({ body }) =>
      toAsns(body.pool_type, await exits.places(body.pool_type, 'asns', readPlaces(body))),
    ),

    bind(getUsage, async ({ caller, query }) =>
      toUsage(
        await usage(caller.customer, {
          subuser: readSubuser(query.subuser_id),
          by: query.by,
          from: query.from,
          to: query.to,
          pool: query.pool_type,
          host: query.host,
        }),
      ),
    ),
  ]
}
