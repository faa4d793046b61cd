import type { NodeExit, NodeProxy, NodeSubuser } from '../../src/node-protocol/state.ts'

export const sha256 = (text: string): Uint8Array => Bun.SHA256.hash(text) as Uint8Array
const digestOf = (text: string): string => Buffer.from(sha256(text)).toString('hex')

/** A dedicated proxy as a node receives it; its password is `secret`. */
export const someProxy = (fields: Partial<NodeProxy> = {}): NodeProxy => ({
  id: 1,
  username: 'tp1abcd',
  digest: digestOf('secret'),
  port_type: 'http',
  leave_from: '127.0.0.1',
  sources: [],
  entry_port: null,
  expires_at: 1_000_000,
  state: 'active',
  withdrawn: false,
  owner: '0123456789abcdef',
  ...fields,
})

/** A sub-user with traffic in one pool; its password is `secret`. */
export const someSubuser = (fields: Partial<NodeSubuser> = {}): NodeSubuser => ({
  id: 'sub_1',
  login: 'u7k2m9x4qa',
  digest: digestOf('secret'),
  state: 'active',
  tunnels: null,
  keep_hosts: true,
  whitelist: [],
  ports: [],
  pools: [{ pool: 'residential', left: 1000 }],
  owner: '0123456789abcdef',
  ...fields,
})

export const someExit = (fields: Partial<NodeExit> = {}): NodeExit => ({
  id: 'exit_1',
  pool: 'residential',
  kind: 'local',
  host: '127.100.0.1',
  port: null,
  credentials: null,
  country: 'de',
  state: 'berlin',
  city: 'berlin',
  zip: '10115',
  asn: 3320,
  offers: null,
  node: null,
  drained: false,
  ...fields,
})
