import * as nodes from '../../api/admin/nodes/shapes.ts'
import * as premium from '../../api/admin/premium/shapes.ts'
import * as things from '../../api/admin/proxies/shapes.ts'
import { maxInterfaceMegabits } from '../../core/bytes.ts'
import { mistyped } from '../command.ts'
import { type OperationCommand, over } from '../operation-command.ts'
import { doneBefore, local, readTextFile, rows, rub, secret, toLines } from '../print.ts'

const showKey = (data: typeof nodes.keyNode.example) => [
  ...secret(
    data.key,
    `It lets ${data.name} join once, until ${local(data.expires_at)}.`,
    'On that machine, with the Debian package, as root:',
  ),
  ...(data.joined_at === null
    ? []
    : [
        '',
        `${data.name} joined ${local(data.joined_at)} and needs no key to continue. A node that joins with this key ` +
          'replaces it: the secret of the node before is refused then.',
      ]),
  '',
  ...data.service_commands.map((command) => `  ${command}`),
  '',
  'Or in the foreground:',
  '',
  `  ${data.command}`,
]

const aboutDraining = ({ kind, name }: { readonly kind: string; readonly name: string }): string =>
  `${
    kind === 'vpn'
      ? 'devices get another node of its location with their next configuration; their current one works'
      : 'its free addresses are not sold; sold proxies work'
  } until "turnpike node close ${name}". "turnpike node drain ${name} --undo" ends it.`

/** A sandbox relays over loopback: its gateway reports the largest speed, so that no bytes are beyond it. */
const bandwidthOf = (megabits: number): number | 'any' => (megabits === maxInterfaceMegabits ? 'any' : megabits)

const nodeColumns =
  'name kind location state drained_at version lag_ms tunnels link_mbit carried_bytes refused_bytes held_bytes ' +
  'accounts_at_limit most_ports unproven_ranges last_seen_at node_id'

export const nodeCommands: readonly OperationCommand[] = [
  over(nodes.listNodes, 'node list', {
    show: ({ items, ...page }) => {
      const shown = items.map((each) => ({ ...each, link_mbit: bandwidthOf(each.link_mbit) }))
      return toLines({ ...page, items: shown }, nodeColumns.split(' '))
    },
  }),
  over(nodes.showNode, 'node show', {
    show: ({ node, serves, ranges }) => [
      `${node.name} is ${node.state}${serves ? ' and serves' : ''}. ` +
        `Last report: ${local(node.last_seen_at) || 'never'}.`,
      ...(node.drained_at === null ? [] : [`Draining since ${local(node.drained_at)}: ${aboutDraining(node)}`]),
      `Bandwidth: ${bandwidthOf(node.link_mbit)} Mbit/s, both directions together ` +
        `(default ${nodes.usualLinkMegabits}). ` +
        (node.interface_mbit === null ? '' : `Its interfaces: ${bandwidthOf(node.interface_mbit)} Mbit/s. `) +
        `"turnpike node link ${node.name} N" changes it.`,
      ...(node.refused_bytes === 0
        ? []
        : [`Not billed, because beyond the bandwidth: ${node.refused_bytes.toLocaleString('en')} bytes.`]),
      ...node.paths.map(
        (path) =>
          `Path ${path.entry} → ${path.exit} over ${path.over === 'tls' ? 'TLS' : 'the plain port'}: ${path.state}` +
          `${path.reason === null ? '' : ` (${path.reason})`}.`,
      ),
      ...rows(ranges),
    ],
  }),
  over(nodes.addNode, 'node add', {
    args: 'name',
    filled: 'endpoint',
    flags: { 'endpoint.host': 'endpoint-host', 'endpoint.port': 'endpoint-port' },
    options: [
      { flag: 'endpoint-host', value: 'HOST', meaning: 'Public host of the node. Default: the host in the settings.' },
      { flag: 'endpoint-port', value: 'PORT', meaning: 'Public port of the node.' },
    ],
    fill: ({ flags: { 'endpoint-host': host, 'endpoint-port': port } }) => {
      if ((host === undefined) !== (port === undefined)) {
        throw mistyped('Give both --endpoint-host and --endpoint-port.')
      }
      return host === undefined ? {} : { endpoint: { host, port: Number(port) } }
    },
    show: showKey,
  }),
  over(nodes.keyNode, 'node key', { show: showKey }),
  over(nodes.linkNode, 'node link', {
    args: 'link_mbit',
    show: (data) => `The bandwidth of ${data.name} is ${bandwidthOf(data.link_mbit)} Mbit/s.`,
  }),
  over(nodes.vpnNode, 'node vpn', {
    show: ({ name, vpn_links: { fingerprint, alpn, port, protocols, group, xmux } }) => [
      `Links name ${name} with the fingerprint ${fingerprint ?? 'firefox'}, ` +
        `ALPN ${(alpn ?? ['http/1.1']).join(',') || 'none'}, port ${port ?? 'as reported'}, ` +
        `protocols ${(protocols ?? ['all']).join(',') || 'none'}.` +
        (protocols === null ? '' : ' Others are off within 2 s.') +
        (group === null ? '' : ` Its group is ${group}.`) +
        (xmux === null ? '' : ` Connections for XHTTP: ${xmux}.`),
      'Apps refresh within 12 hours.',
    ],
  }),
  over(nodes.endpointNode, 'node endpoint', { show: (of) => `${of.name} is reached at ${of.endpoint?.host} now.` }),
  over(nodes.entryNode, 'node entry', {
    show: (of) =>
      of.is_entry
        ? `${of.name} is an entry. "turnpike node exit NAME --via ${of.name}" makes another gateway an exit behind it.`
        : `${of.name} is no entry any more.`,
  }),
  over(nodes.exitNode, 'node exit', {
    show: (of) => {
      const entry = of.paths.find(({ exit }) => exit === of.name)?.entry
      return entry === undefined
        ? `Customers of ${of.name} connect to ${of.name} itself.`
        : `Customers of ${of.name} enter at ${entry} and leave from ${of.name}.`
    },
  }),
  over(nodes.renameNode, 'node rename', { args: 'new_name', show: (data) => `The node is called ${data.name} now.` }),
  over(nodes.revokeNode, 'node revoke', { show: (data) => `${data.name} is revoked and closed.` }),
  over(nodes.closeNode, 'node close', { show: (data) => `${data.name} is closed.` }),
  over(nodes.openNode, 'node open', {
    show: ({ name, joined_at: joined }) =>
      `${name} is open.${joined === null ? ` "turnpike node key ${name}" makes a key that lets it join.` : ''}`,
  }),
  over(nodes.removeNode, 'node remove', { show: (data) => `${data.name} is removed. Its name is free.` }),
  over(nodes.drainNode, 'node drain', {
    show: (data) =>
      data.drained_at === null
        ? `${data.name} serves new purchases again.`
        : `${data.name} is draining: ${aboutDraining(data)}`,
  }),
  over(nodes.forgetUsage, 'node forget-usage', {
    show: (data) => `${data.bytes} bytes of ${data.things} accounts ${data.dry_run ? 'would be' : 'were'} given back.`,
  }),
  over(nodes.seeLostGoods, 'node seen-lost', {
    show: (data) => `${data.seen} lost goods are marked as seen. "turnpike doctor" names them no longer.`,
  }),
  over(premium.listQuarantined, 'usage quarantine'),
]

export const thingCommands: readonly OperationCommand[] = [
  over(premium.listPools, 'pool list', { columns: 'pool sold from_rub_per_gb exits serving' }),
  over(premium.addExit, 'exit add', {
    args: 'pool',
    filled: 'password',
    options: [{ flag: 'password-file', value: 'FILE', meaning: 'Its first line is the password; - is stdin.' }],
    fill: async ({ flags: { 'password-file': path } }) =>
      path === undefined ? {} : { password: (await readTextFile(path)).split('\n')[0] },
    show: (data) => `${data.exit_id} leaves from ${data.host} in ${data.pool}.`,
  }),
  over(premium.listExits, 'exit list', {
    show: (data) =>
      toLines({
        ...data,
        items: data.items.map((each) => ({
          exit: each.exit_id,
          pool: each.pool,
          leaves_from: each.kind === 'local' ? each.host : `${each.kind}://${each.host}:${each.port}`,
          node: each.node ?? 'any',
          place: each.offers?.countries ?? [each.country, each.state, each.city, each.zip].filter(Boolean),
          asn: each.asn,
          status: each.status,
          why: each.said.flatMap((report) => (report.up ? [] : [`${report.node}: ${report.reason}`])),
        })),
      }),
  }),
  over(premium.drainExit, 'exit drain', {
    show: (data) => `${data.exit_id} ${data.drained ? 'is drained: no new connection uses it' : 'serves again'}.`,
  }),
  over(premium.assignExit, 'exit assign', { show: (data) => `${data.exit_id} is on ${data.node ?? 'every gateway'}.` }),
  over(premium.removeExit, 'exit remove', { show: (data) => `${data.exit_id} is removed.` }),
  over(premium.compareExit, 'exit compare', {
    filled: 'supplied_bytes days',
    options: [{ flag: 'supplied', value: 'BYTES|FILE.csv', meaning: "The supplier's count, or a file of day,bytes." }],
    fill: (given) => readSupplied(given.flags['supplied'] ?? ''),
    show: (data) => {
      const by = Math.abs(data.difference_bytes).toLocaleString('en')
      const part = data.difference_percent === null ? '' : ` (${Math.abs(data.difference_percent)} %)`
      return [
        ...(data.days.length > 0 ? rows(data.days) : []),
        data.difference_bytes === 0
          ? 'The supplier counted the same.'
          : `The supplier counted ${by} bytes${part} ${data.difference_bytes > 0 ? 'more' : 'fewer'}.`,
      ]
    },
  }),
  over(things.showProxy, 'proxy show', {
    show: (data) => [
      `Proxy ${data.proxy} of ${data.customer_id}, bought with ${data.order_id}: ${data.status}`,
      `${data.country} ipv ${data.ipv} ${data.address} on ${data.node ?? 'no gateway'}, ${data.port_type}, ` +
        data.username,
      ...(data.interrupted_at === null
        ? []
        : [`interrupted since ${local(data.interrupted_at)} (${data.interrupted_by})`]),
      `from ${local(data.started_at)} until ${local(data.ended_at ?? data.expires_at)}, ` +
        `${data.rx_bytes} bytes in, ${data.tx_bytes} out`,
      ...rows(data.addresses),
    ],
  }),
  over(things.checkAnyProxy, 'proxy check', {
    show: (data) =>
      data.works
        ? `Proxy ${data.proxy} works: a connection took ${data.took_ms} ms.`
        : `Proxy ${data.proxy} does not work: ${data.problem}.`,
  }),
  over(things.listInterrupted, 'proxy interrupted', { columns: 'proxy customer_id address node since reason' }),
  over(things.endProxy, 'proxy end', {
    filled: 'refund',
    options: [{ flag: 'no-refund', meaning: 'Refund nothing.' }],
    fill: (given) => ({ refund: !given.has('no-refund') }),
    show: (of) => `${doneBefore(of.replayed, of.dry_run)}Ended proxy ${of.proxy}. Refunded ${rub(of.amount_rub)} RUB.`,
  }),
  over(things.replaceProxy, 'proxy replace', {
    show: (data) => `${doneBefore(data.replayed)}Proxy ${data.proxy} got ${data.to} in place of ${data.from}.`,
  }),
  over(things.showVpn, 'vpn show', {
    show: (data) => [
      `${data.uuid} of ${data.customer_id}: ${data.status} until ${local(data.expires_at)}`,
      ...rows(data.devices),
    ],
  }),
  over(things.getVpnUsage, 'vpn usage', { columns: 'node protocol devices rx_bytes tx_bytes' }),
  over(things.moveVpn, 'vpn move', {
    flags: { node: 'to' },
    show: (data) => [
      `${data.uuid} is on ${data.node} now, with ${data.devices} ${data.devices === 1 ? 'device' : 'devices'}.`,
      'Each device needs the new endpoint from its configuration. The old one works while the old node does.',
    ],
  }),
  over(things.disableVpn, 'vpn disable', { show: (data) => `${data.uuid} is disabled.` }),
  over(things.enableVpn, 'vpn enable', { show: (data) => `${data.uuid} is enabled.` }),
]

/** A number of bytes, or the days of a CSV file. A first line that is no day is a heading. */
async function readSupplied(text: string) {
  if (/^\d{1,18}$/.test(text)) return { supplied_bytes: Number(text) }
  if (!text.endsWith('.csv')) throw mistyped('--supplied is a number of bytes, or a file that ends in .csv.')
  const lines = (await readTextFile(text)).split(/\r?\n/).map((line) => line.trim())
  const days = lines.flatMap((line, index) => {
    const [, day, bytes] = /^"?(\d{4}-\d{2}-\d{2})"?[,;]"?(\d{1,18})"?$/.exec(line) ?? []
    if (day !== undefined) return [{ day, bytes: Number(bytes) }]
    if (line === '' || index === 0) return []
    throw mistyped(`Line ${index + 1} of ${text} is not a day and a number of bytes.`)
  })
  return { days }
}
