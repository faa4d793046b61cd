import type { Fleet } from '../domains/fleet/index.ts'
import { isLive, type Node } from '../domains/fleet/rules.ts'
import { toIso } from '../kernel/time.ts'
import { type Command, table } from './command.ts'
import type { Opened } from './customers.ts'

type Deps = { fleet: Fleet; now: () => number }

export function nodeCommands(open: Opened<Deps>): readonly Command[] {
  return [
    {
      name: 'node list',
      summary: 'Lists the machines that carry traffic, and whether they are up.',
      takes: [],
      options: [],
      run: (given) =>
        open(given, async ({ fleet, now }) => {
          const nodes = [...(await fleet.nodes('gateway')), ...(await fleet.nodes('vpn'))]
          return {
            json: nodes.map((node) => toJson(node, now())),
            lines: table(
              ['NODE', 'KIND', 'NAME', 'LOCATION', 'STATE', 'LAST SEEN'],
              nodes.map((node) => [
                node.id,
                node.kind,
                node.name,
                node.location,
                stateOf(node, now()),
                node.lastSeenAt === null ? 'never' : toIso(node.lastSeenAt),
              ]),
            ),
          }
        }),
    },
  ]
}

const stateOf = (node: Node, nowMs: number): string =>
  node.state === 'closed' ? 'closed' : isLive(node, nowMs) ? 'online' : 'offline'

const toJson = (node: Node, nowMs: number) => ({
  id: node.id,
  kind: node.kind,
  name: node.name,
  location: node.location,
  country_code: node.countryCode,
  city: node.city,
  endpoint: node.endpoint,
  public_key: node.publicKey,
  state: stateOf(node, nowMs),
  version: node.version,
  last_seen_at: node.lastSeenAt === null ? null : toIso(node.lastSeenAt),
})
