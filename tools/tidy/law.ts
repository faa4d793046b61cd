/** Which room of the house a file is in. The rooms of a domain are told apart by the file's name. */
export type Room =
  | 'kernel'
  | 'db'
  | 'rules'
  | 'errors'
  | 'ports'
  | 'store'
  | 'service'
  | 'door'
  | 'wire'
  | 'api'
  | 'jobs'
  | 'cli'
  | 'adapters'
  | 'plane'
  | 'main'
  | 'console'

/**
 * What a room may import. `files` are globs from the project's root; `own/` is the file's own domain and `below/` each
 * domain that one may see; `pure` is a domain's rules.ts and any further file that is not a store, service, door,
 * errors or ports. `packages` are globs of package, `node:` and `bun:` names. Type imports obey the same law.
 */
export type Sight = { readonly files: readonly string[]; readonly packages: readonly string[] }

const kernel = 'src/kernel/**'
const doors = 'src/domains/*/{index,rules}.ts'
export const pure = 'own/rules.ts and its like'
const hashing = 'node:crypto'
const anyPackage = '**'

/** The import law, whole. Whatever is not listed is forbidden. */
export const law: Readonly<Record<Room, Sight>> = {
  kernel: { files: [kernel], packages: [] },
  db: { files: [kernel, 'src/db/**', 'migrations/**'], packages: ['bun', 'bun:sqlite', 'node:*', 'node:*/**'] },
  rules: { files: [kernel, pure, 'own/errors.ts', 'below/rules.ts'], packages: [] },
  errors: { files: [kernel], packages: [] },
  ports: { files: [kernel], packages: [] },
  store: {
    files: [kernel, 'src/db/**', pure, 'own/errors.ts', 'own/store.ts', 'own/store-*.ts', 'below/rules.ts'],
    packages: [hashing],
  },
  service: { files: [kernel, 'src/db/transaction.ts', 'own/**', 'below/{index,rules}.ts'], packages: [hashing] },
  door: { files: ['own/**'], packages: [] },
  wire: { files: [kernel, 'src/wire/**', 'src/domains/*/rules.ts'], packages: ['zod', '@hono/zod-openapi'] },
  api: {
    files: [kernel, 'src/wire/**', 'src/api/**', doors],
    packages: ['hono', 'hono/**', '@hono/**'],
  },
  jobs: { files: [kernel, 'src/wire/**', 'src/jobs/**', doors], packages: [] },
  cli: { files: [kernel, 'src/wire/**', 'src/cli/**', doors], packages: [anyPackage] },
  adapters: { files: [kernel, 'src/adapters/**', 'src/domains/*/{ports,rules}.ts'], packages: [anyPackage] },
  plane: { files: [kernel, 'src/plane/**', 'src/wire/node.ts', 'src/wire/node/**'], packages: [anyPackage] },
  main: { files: ['src/**', 'migrations/**', 'console/**', 'package.json'], packages: [anyPackage] },
  console: { files: [kernel, 'src/wire/**', 'console/**', 'src/console/**'], packages: [anyPackage] },
}

const ground = ['ledger', 'pricing', 'customers']
const middle = ['stock', 'fleet', 'usage', 'payments']

/** The other domains each domain may see. The ones that are sold see everything below them and never one another. */
export const below: Readonly<Record<string, readonly string[]>> = {
  ledger: [],
  pricing: [],
  customers: ['ledger'],
  orders: ground,
  stock: [...ground, 'orders', ...middle],
  fleet: [...ground, 'orders', ...middle],
  usage: [...ground, 'orders', ...middle],
  payments: [...ground, 'orders', ...middle],
  dedicated: [...ground, 'orders', ...middle],
  premium: [...ground, 'orders', ...middle],
  vpn: [...ground, 'orders', ...middle],
}

const plainRooms: readonly Room[] = [
  'kernel',
  'db',
  'wire',
  'api',
  'jobs',
  'cli',
  'adapters',
  'plane',
  'main',
  'console',
]

export function findRoom(path: string): { readonly room: Room; readonly domain?: string } | undefined {
  const parts = path.split('/')
  if (parts[0] === 'console') return { room: 'console' }
  if (parts[0] !== 'src') return undefined
  const room = plainRooms.find((name) => name === parts[1])
  if (room !== undefined && parts.length > 2) return { room }
  const [, folder, domain] = parts
  if (folder !== 'domains' || domain === undefined || parts.length < 4) return undefined
  return { room: roomOfDomainFile(parts.slice(3).join('/')), domain }
}

function roomOfDomainFile(name: string): Room {
  const stem = name.replace(/\.tsx?$/, '')
  if (stem === 'index') return 'door'
  if (stem === 'errors' || stem === 'ports') return stem
  if (stem === 'store' || stem.startsWith('store-')) return 'store'
  if (stem === 'service' || stem.startsWith('service-')) return 'service'
  return 'rules'
}
