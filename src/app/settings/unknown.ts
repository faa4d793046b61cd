import { findNearest } from '../../api/names.ts'
import { settings } from './config.ts'

const prefix = 'TURNPIKE_'
/** Variables between processes of Turnpike. */
const internal: readonly string[] = ['TURNPIKE_LEASH', 'TURNPIKE_SUPERVISED', 'TURNPIKE_BETWEEN']
/** Variables of commands on a remote shop. */
const ofCommands: readonly string[] = ['TURNPIKE_OPERATOR_TOKEN', 'TURNPIKE_OPERATOR_TOKEN_FILE']
/** Variables of `turnpike mcp` and of `turnpike-client`, which a customer or operator may have in the same shell. */
const ofClient: readonly string[] = ['TURNPIKE_URL', 'TURNPIKE_TOKEN']
const ofTests = /^TURNPIKE_(TEST|STORM)_/
/** Kubernetes sets variables for each service, and one of them may be called turnpike. */
const ofServices = /_SERVICE_(HOST|PORT)(_|$)|_PORT_\d+_(TCP|UDP|SCTP)(_|$)/
const maxNameLength = 60

/** Settings of earlier versions. */
const removed: readonly string[] = ['TURNPIKE_GATEWAY_TLS_WORKERS']

/** A variable that looks like a setting, and the setting that was likely meant. */
export type UnknownSetting = {
  readonly name: string
  readonly meant: string | undefined
  /** An earlier version had it. */
  readonly isRemoved: boolean
}

/** A misspelt setting would silently leave the default in force. */
export function findUnknownSettings(env: Readonly<Record<string, string | undefined>>): UnknownSetting[] {
  const known = Object.values(settings).map((each) => each.env)
  return Object.keys(env)
    .filter((name) => name.toUpperCase().startsWith(prefix) && !known.includes(name))
    .filter((name) => ![...internal, ...ofCommands, ...ofClient].includes(name))
    .filter((name) => !ofTests.test(name) && !isOfService(name, env[name]))
    .toSorted()
    .map((name) => {
      const isRemoved = removed.includes(name)
      return { name: name.slice(0, maxNameLength), meant: isRemoved ? undefined : findMeant(name, known), isRemoved }
    })
}

function findMeant(name: string, known: readonly string[]): string | undefined {
  const bare = (each: string): string => each.slice(prefix.length)
  const meant = known.map(bare).find((each) => lettersOf(each) === lettersOf(bare(name)))
  const nearest = meant ?? findNearest(bare(name), known.map(bare))
  return nearest === undefined ? undefined : `${prefix}${nearest}`
}

/** Equal for two names with transposed letters. */
const lettersOf = (name: string): string => name.toUpperCase().split('').toSorted().join('')

const isOfService = (name: string, value = ''): boolean =>
  ofServices.test(name) || (name.endsWith('_PORT') && /^(tcp|udp|sctp):\/\//.test(value))
