import { refuseField } from '../core/refusal.ts'
import { changelog } from './changelog.ts'

/** In a request the version to try, in an answer the version that it has. */
export const versionHeader = 'Turnpike-Version'

type Fields = Readonly<Record<string, unknown>>

/** How a version differs from the one before it. The functions get plain JSON and change none of it in place. */
export type Conversion = {
  /** Ids of operations; all if absent. */
  readonly operations?: readonly string[]
  /** Fields of a body or a query, from the version before to this one. */
  readonly request?: (fields: Fields) => Fields
  /** `data` of an answer, from this version to the one before. */
  readonly answer?: (data: unknown) => unknown
  /** `error` of a refusal, from this version to the one before. */
  readonly refusal?: (error: Fields) => Fields
}

/** A version of the API: its date, and how it differs from the one before. */
export type ApiVersion = { readonly date: string; readonly conversions: readonly Conversion[] }

/** The body of an answer, and the version that it was written in. */
type Written = { readonly body: string; readonly version: string }

/**
 * All versions of an API, oldest first. Operations know the latest only: requests and answers are converted for the
 * others.
 */
export class ApiVersions {
  readonly dates: readonly string[]
  readonly first: string
  readonly latest: string

  constructor(private readonly versions: readonly ApiVersion[]) {
    this.dates = versions.map(({ date }) => date)
    const [first, latest] = [this.dates[0], this.dates.at(-1)]
    if (first === undefined || latest === undefined) throw new Error('an API has a version')
    if (this.dates.some((date, index) => date <= (this.dates[index - 1] ?? ''))) {
      throw new Error('versions are in the order of their dates')
    }
    this.first = first
    this.latest = latest
  }

  /** The version of a request: the one that it names, else the token's. Without a token it is the latest. */
  choose(named: string | null, ofToken: string | undefined): string {
    if (named === null) return ofToken !== undefined && this.dates.includes(ofToken) ? ofToken : this.latest
    return this.read(named, versionHeader)
  }

  /** A version that a request names in this field. */
  read(text: string, field: string): string {
    if (this.dates.includes(text)) return text
    throw refuseField(field, 'one_of', { allowed: this.dates })
  }

  /** The fields of a request of a version, as the latest version has them. */
  upgrade<Sent extends Fields>(operation: string, version: string, fields: Sent): Sent {
    let upgraded: Fields = fields
    for (const each of this.between(operation, version, this.latest)) upgraded = each.request?.(upgraded) ?? upgraded
    return upgraded as Sent
  }

  /**
   * An answer in a version. One that was written in an older version, and is replayed, stays as it is: a program that
   * sent the request in that version gets the same answer again.
   */
  toVersion(operation: string, written: Written, version: string): Written {
    const conversions = this.between(operation, version, written.version).toReversed()
    if (conversions.length === 0) return written.version > version ? { ...written, version } : written
    const convert = (data: unknown): unknown =>
      conversions.reduce((converted, each) => each.answer?.(converted) ?? converted, data)
    const body: unknown = JSON.parse(written.body)
    const converted = isEnvelope(body) ? { ...body, data: convert(body.data) } : body
    return { body: JSON.stringify(converted), version }
  }

  /** The `error` of a refusal in a version. */
  refusalTo(operation: string, error: Fields, version: string): Fields {
    let converted = error
    for (const each of this.between(operation, version, this.latest).toReversed()) {
      converted = each.refusal?.(converted) ?? converted
    }
    return converted
  }

  /** The conversions of the versions after one and up to another, oldest first. */
  private between(operation: string, after: string, upTo: string): Conversion[] {
    return this.versions
      .filter(({ date }) => date > after && date <= upTo)
      .flatMap(({ conversions }) => conversions)
      .filter(({ operations }) => operations?.includes(operation) ?? true)
  }
}

const isEnvelope = (value: unknown): value is { readonly data: unknown } =>
  typeof value === 'object' && value !== null && 'data' in value

/** The versions of this release. The first one is the form of every answer before versions, so it converts nothing. */
export const apiVersions = new ApiVersions(
  changelog
    .filter(({ isVersion }) => isVersion)
    .map(({ date }) => ({ date, conversions: [] }))
    .toReversed(),
)

/** The version of one request, for its fields, its answer and its refusals. */
export type RequestVersion = { readonly versions: ApiVersions; readonly operation: string; version: string }
