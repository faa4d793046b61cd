import { readId, type SubuserId } from '../../../core/ids.ts'
import { problemOfTemplate, templateOf } from '../../../core/line-template.ts'
import { toSlug } from '../../../core/login.ts'
import { type FieldProblem, malformed, Refusal } from '../../../core/refusal.ts'

export const noSuchSubuser = (): Refusal => new Refusal('subuser_not_found', {}, { charged: false })

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

type Format = { readonly formatId: 1 | 2 | 3 | 4 | null; readonly template: string; readonly problem?: FieldProblem }

/** How customers of other sellers write the parts of a line. */
const partOf: Readonly<Record<string, string>> = {
  login: 'login',
  username: 'login',
  user: 'login',
  password: 'password',
  pass: 'password',
  hostname: 'host',
  host: 'host',
  ip: 'host',
  port: 'port',
  protocol: 'protocol',
  scheme: 'protocol',
}

/**
 * A format by its number, wherever the number stands, or as a template. A template without a single brace is read as
 * if each word in it stood in braces, as long as all of them are parts of a line.
 */
export function readFormat(body: {
  format_id?: 1 | 2 | 3 | 4 | undefined
  format?: string | number | undefined
}): Format {
  const { format } = body
  if (format === undefined) return byNumber(body.format_id ?? 1)
  if (body.format_id !== undefined) {
    return { ...byNumber(1), problem: { field: 'format', problem: 'and format_id exclude each other' } }
  }
  const number = ([1, 2, 3, 4] as const).find((each) => String(each) === String(format))
  if (number !== undefined) return byNumber(number)
  const template = typeof format === 'number' ? '' : toBraces(format)
  const problem =
    typeof format === 'number'
      ? { field: 'format', problem: 'must be a template, or one of 1, 2, 3, 4', allowed: [1, 2, 3, 4] }
      : problemOfTemplate(template)
  return { formatId: null, template, ...(problem && { problem }) }
}

const byNumber = (formatId: 1 | 2 | 3 | 4): Format => ({ formatId, template: templateOf[formatId] })

function toBraces(format: string): string {
  const words = format.match(/[A-Za-z_]+/g) ?? []
  const isPlain =
    !/[{}]/.test(format) && words.length > 0 && words.every((word) => Object.hasOwn(partOf, word.toLowerCase()))
  return isPlain ? format.replace(/[A-Za-z_]+/g, (word) => `{${partOf[word.toLowerCase()]}}`) : format
}
