/**
 * The layer of a file in the import rules. Inside a domain the file's name decides, in the domain's folder or in a
 * subfolder of it.
 */
export type Room =
  | 'core'
  | 'db'
  | 'rules'
  | 'errors'
  | 'ports'
  | 'nodes'
  | 'store'
  | 'use-case'
  | 'door'
  | 'node-protocol'
  | 'shapes'
  | 'api'
  | 'jobs'
  | 'mcp'
  | 'cli'
  | 'adapters'
  | 'dataplane'
  | GatewayRoom
  | 'app'
  | ConsoleRoom

/** The console: shared code, and the customer's and the operator's part, which never import each other. */
type ConsoleRoom = 'console' | 'console-client' | 'console-customer' | 'console-operator'

/** Folders of a gateway, for both engines. `engines` and `handover` have the rules of `dataplane`. */
type GatewayRoom =
  | 'gateway-ways-in'
  | 'gateway-metering'
  | 'gateway-access'
  | 'gateway-dial'
  | 'gateway-sides'
  | 'gateway-relay'
  | 'gateway-site'
  | 'gateway-system'

/**
 * The modules that a layer may import. `files` are globs from the project's root; `own/` is the file's own domain and
 * `below/` each domain that it may import; `pure` is a domain's rules.ts and any further file of no other layer.
 * `packages` are globs of package, `node:` and `bun:` names. Type imports obey the same rules.
 */
export type Sight = { readonly files: readonly string[]; readonly packages: readonly string[] }

const core = 'src/core/**'
/** A file of a layer in the domain's folder and in each of its subfolders. */
const everywhere = (domain: string, room: string): readonly string[] => [
  `${domain}/${room}.ts`,
  `${domain}/*/${room}.ts`,
]
const rules = everywhere('src/domains/*', 'rules')
const doors = ['src/domains/*/index.ts', ...rules]
const seenBelow = ['below/index.ts', ...everywhere('below', 'rules')]
export const pure = 'own/rules.ts and its like'
const inGateway = (...rooms: readonly string[]) => rooms.map((room) => `src/dataplane/gateway/${room}/**`)
const hashing = 'node:crypto'
const anyPackage = '**'
/**
 * The console uses the shop only through its HTTP APIs: it imports no server code, not even src/core. One exception:
 * `client` takes types and tables of operations from the shapes. The build runs that import; no browser loads it.
 */
const sharedConsole = ['src/console/{client,shared,styles}/**']
/** The look of all pages: plain data. The API's pages for visitors, links and payments take style and flags from it. */
const look = 'src/console/styles/{tokens,flags}.ts'
const operationTables = 'src/api/operation-tables.ts'
const browserPackages = ['react', 'react-dom/client', '@mantine/{core,hooks}', '@tanstack/react-query', 'uplot', 'qr']

/** All import rules. An import that is not listed is forbidden. */
export const law: Readonly<Record<Room, Sight>> = {
  core: { files: [core], packages: [] },
  db: { files: [core, 'src/db/**', 'migrations/**'], packages: ['bun', 'bun:sqlite', 'node:*', 'node:*/**'] },
  rules: { files: [core, pure, ...everywhere('own', 'errors'), ...everywhere('below', 'rules')], packages: [] },
  errors: { files: [core], packages: [] },
  ports: { files: [core], packages: [] },
  nodes: { files: [core, 'src/db/transaction.ts', 'src/node-protocol/**', 'own/**', ...seenBelow], packages: [] },
  store: {
    files: [
      core,
      'src/db/**',
      pure,
      ...everywhere('own', 'errors'),
      ...everywhere('own', 'store'),
      ...everywhere('own', 'store-*'),
      ...everywhere('below', 'rules'),
    ],
    packages: [hashing],
  },
  'use-case': {
    files: [core, 'src/db/{transaction,audit-walks,summed-days}.ts', 'own/**', ...seenBelow],
    packages: [hashing],
  },
  door: { files: [core, 'own/**'], packages: [] },
  'node-protocol': { files: [core, 'src/node-protocol/**'], packages: ['zod'] },
  shapes: {
    files: [
      core,
      'src/api/{fields,operation,pages}.ts',
      'src/api/*/fields.ts',
      'src/api/*/*/{fields,shapes,shapes-*}.ts',
      ...rules,
    ],
    packages: ['@hono/zod-openapi', '@asteasolutions/zod-to-openapi'],
  },
  api: {
    files: [core, 'src/node-protocol/**', 'src/api/**', look, ...doors],
    packages: ['hono', 'hono/**', '@hono/**'],
  },
  jobs: { files: [core, 'src/node-protocol/**', 'src/jobs/**', ...doors], packages: [] },
  mcp: {
    files: [core, 'src/mcp/**', 'src/api/*.ts', 'src/api/customer/*/shapes.ts'],
    packages: [hashing, '@modelcontextprotocol/server', '@modelcontextprotocol/server/stdio'],
  },
  cli: {
    files: [
      core,
      'src/cli/**',
      'src/api/operation.ts',
      'src/api/admin/**/shapes*.ts',
      'src/api/admin/catalogue/{price-list-text,duplicate-keys}.ts',
      'src/domains/pricing/catalogue.yaml',
    ],
    packages: [anyPackage],
  },
  adapters: { files: [core, 'src/adapters/**', 'src/domains/*/ports.ts', ...rules], packages: [anyPackage] },
  dataplane: { files: [core, 'src/dataplane/**', 'src/node-protocol/**'], packages: [anyPackage] },
  'gateway-ways-in': { files: [core, ...inGateway('ways-in')], packages: [] },
  'gateway-metering': {
    files: [core, 'src/node-protocol/**', 'src/dataplane/agent/**', ...inGateway('metering')],
    packages: [],
  },
  'gateway-access': {
    files: [core, 'src/node-protocol/**', 'src/dataplane/agent/**', ...inGateway('ways-in', 'metering', 'access')],
    packages: [],
  },
  'gateway-dial': {
    files: [core, 'src/node-protocol/**', ...inGateway('ways-in', 'access', 'dial')],
    packages: ['node:dns/promises'],
  },
  'gateway-sides': {
    files: [core, 'src/dataplane/tls/**', ...inGateway('ways-in', 'metering', 'dial', 'sides')],
    packages: [],
  },
  'gateway-relay': {
    files: [
      core,
      'src/node-protocol/**',
      'src/dataplane/agent/**',
      ...inGateway('ways-in', 'metering', 'access', 'dial', 'sides', 'relay'),
    ],
    packages: [],
  },
  'gateway-site': {
    files: [core, 'src/dataplane/{agent,tls}/**', ...inGateway('ways-in', 'metering', 'access', 'sides', 'site')],
    packages: ['node:fs', 'node:http', 'node:path'],
  },
  'gateway-system': {
    files: [core, ...inGateway('ways-in', 'metering', 'dial', 'sides', 'system')],
    packages: ['bun:ffi', 'node:os'],
  },
  app: { files: ['src/**', 'migrations/**', 'package.json'], packages: [anyPackage] },
  console: { files: [...sharedConsole, 'src/console/*/index.tsx'], packages: browserPackages },
  'console-client': { files: [...sharedConsole, operationTables], packages: browserPackages },
  'console-customer': { files: [...sharedConsole, 'src/console/customer/**'], packages: browserPackages },
  'console-operator': { files: [...sharedConsole, 'src/console/operator/**'], packages: browserPackages },
}

/** The domains that each domain imports. An edge that is not listed is forbidden, and one that is not used goes. */
export const below: Readonly<Record<string, readonly string[]>> = {
  ledger: [],
  pricing: [],
  operators: [],
  customers: ['ledger'],
  metadata: ['ledger'],
  privacy: ['customers', 'ledger', 'operators'],
  events: ['metadata'],
  requests: [],
  orders: ['customers', 'events', 'ledger', 'metadata'],
  signin: ['customers', 'events', 'ledger', 'operators'],
  fleet: ['customers'],
  stock: ['customers', 'fleet'],
  traffic: ['fleet'],
  payments: ['customers', 'events', 'ledger', 'orders'],
  dedicated: [
    'customers',
    'events',
    'fleet',
    'ledger',
    'metadata',
    'orders',
    'payments',
    'pricing',
    'stock',
    'traffic',
  ],
  webhooks: ['customers', 'events'],
  alerts: ['events'],
  notices: ['events', 'ledger', 'signin'],
  brand: [],
  premium: ['customers', 'events', 'fleet', 'ledger', 'metadata', 'orders', 'payments', 'pricing', 'stock', 'traffic'],
  vpn: ['customers', 'events', 'fleet', 'ledger', 'orders', 'payments', 'pricing', 'traffic'],
}

const plainRooms: readonly Room[] = [
  'core',
  'db',
  'node-protocol',
  'api',
  'jobs',
  'mcp',
  'cli',
  'adapters',
  'dataplane',
  'app',
  'console',
]

const consoleRooms: ReadonlyMap<string, ConsoleRoom> = new Map([
  ['client', 'console-client'],
  ['customer', 'console-customer'],
  ['operator', 'console-operator'],
])

const gatewayRooms: ReadonlyMap<string, GatewayRoom> = new Map([
  ['ways-in', 'gateway-ways-in'],
  ['access', 'gateway-access'],
  ['dial', 'gateway-dial'],
  ['metering', 'gateway-metering'],
  ['sides', 'gateway-sides'],
  ['relay', 'gateway-relay'],
  ['site', 'gateway-site'],
  ['system', 'gateway-system'],
])

export function findRoom(path: string): { readonly room: Room; readonly domain?: string } | undefined {
  const parts = path.split('/')
  if (parts[0] !== 'src') return undefined
  const room = plainRooms.find((name) => name === parts[1])
  if (room === 'api' && isShapes(parts.at(-1) ?? '')) return { room: 'shapes' }
  if (room === 'console') return { room: consoleRooms.get(parts[2] ?? '') ?? 'console' }
  if (room === 'dataplane' && parts[2] === 'gateway') return { room: gatewayRooms.get(parts[3] ?? '') ?? 'dataplane' }
  if (room !== undefined && parts.length > 2) return { room }
  const [, folder, domain, ...inside] = parts
  const name = inside.at(-1)
  if (folder !== 'domains' || domain === undefined || name === undefined || inside.length > 2) return undefined
  const domainRoom = roomOfDomainFile(name)
  // A domain has one index.ts, also when it has subfolders.
  return domainRoom === 'door' && inside.length > 1 ? undefined : { room: domainRoom, domain }
}

/** Input and output schemas of operations. They import values and no code with effects. */
function isShapes(name: string): boolean {
  const stem = name.replace(/\.tsx?$/, '')
  return ['shapes', 'fields', 'operation', 'pages'].includes(stem) || stem.startsWith('shapes-')
}

function roomOfDomainFile(name: string): Room {
  const stem = name.replace(/\.tsx?$/, '')
  if (stem === 'index') return 'door'
  if (stem === 'errors' || stem === 'ports' || stem === 'nodes') return stem
  if (stem === 'store' || stem.startsWith('store-')) return 'store'
  if (stem === 'rules' || stem.startsWith('rules-')) return 'rules'
  return 'use-case'
}
