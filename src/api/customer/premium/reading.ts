import { readId, type SubuserId } from '../../../kernel/ids.ts'
import { toSlug } from '../../../kernel/login.ts'
import { malformed, Refusal } from '../../../kernel/refusal.ts'

export const noSuchSubuser = (): Refusal =>
  new Refusal('missing', 'not_found', 'There is no such sub-user.', { charged: false })

/** What has not the shape of an id is nobody's id. */
export function readSubuser(text: string | undefined): SubuserId | undefined {
  if (text === undefined) return undefined
  const id = readId('subuser', text)
  if (!id) throw noSuchSubuser()
  return id
}

type PlaceFields = {
  readonly country_code?: string | undefined
  readonly countries?: readonly string[] | undefined
  readonly states?: readonly string[] | undefined
  readonly cities?: readonly string[] | undefined
  readonly zipcodes?: readonly string[] | undefined
  readonly asns?: readonly number[] | undefined
}

/** Places as a login writes them, each once. A name that leaves nothing to write is not a place. */
export function readPlaces(fields: PlaceFields) {
  const codes = [...(fields.country_code === undefined ? [] : [fields.country_code]), ...(fields.countries ?? [])]
  return {
    countries: [...new Set(codes.map((code) => code.toLowerCase()))],
    states: readNames('states', fields.states),
    cities: readNames('cities', fields.cities),
    zips: readNames('zipcodes', fields.zipcodes),
    asns: [...new Set(fields.asns ?? [])],
  }
}

function readNames(field: string, names: readonly string[] | undefined): string[] {
  const slugs = (names ?? []).map(toSlug)
  const empty = slugs.findIndex((slug) => slug === '' || slug.length > 40)
  if (empty >= 0)
    throw malformed([{ field: `${field}.${empty}`, problem: 'must be a name in Latin letters or digits' }])
  return [...new Set(slugs)]
}
