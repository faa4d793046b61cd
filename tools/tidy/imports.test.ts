import { describe, expect, test } from 'bun:test'
import { checkImports, findImports } from './imports.ts'
import { rulesBroken } from './planted.ts'

const importing = (specifier: string) => `import { x } from '${specifier}'\n`
const broken = (path: string, text: string) => rulesBroken(checkImports, path, text)

/** Each row: a file, a module that it may not import, and a similar one that it may. */
const rows: readonly (readonly [path: string, forbidden: string, allowed: string | undefined])[] = [
  ['src/core/money.ts', 'node:crypto', './bytes.ts'],
  ['src/core/money.ts', 'zod', './bytes.ts'],
  ['src/core/money.ts', '../db/transaction.ts', './bytes.ts'],
  ['src/db/open.ts', '../domains/ledger/rules.ts', '../core/money.ts'],
  ['src/db/open.ts', 'hono', 'bun:sqlite'],
  ['src/domains/orders/rules.ts', '../ledger/index.ts', '../ledger/rules.ts'],
  ['src/domains/orders/rules.ts', './store.ts', './rules-states.ts'],
  ['src/domains/orders/rules.ts', 'node:crypto', '../../core/money.ts'],
  ['src/domains/orders/rules-states.ts', './buy.ts', './rules.ts'],
  ['src/domains/orders/errors.ts', './rules.ts', '../../core/refusal.ts'],
  ['src/domains/orders/ports.ts', './rules.ts', '../../core/refusal.ts'],
  ['src/domains/orders/store.ts', '../ledger/index.ts', '../ledger/rules.ts'],
  ['src/domains/orders/store.ts', './buy.ts', '../../db/portable.ts'],
  ['src/domains/orders/store-history.ts', '../ledger/store.ts', './errors.ts'],
  ['src/domains/orders/buy.ts', '../ledger/store.ts', '../ledger/index.ts'],
  ['src/domains/orders/buy.ts', '../../db/open.ts', '../../db/transaction.ts'],
  ['src/domains/orders/renew.ts', '../ledger/buy.ts', './store.ts'],
  ['src/domains/orders/index.ts', '../ledger/index.ts', './buy.ts'],
  ['src/domains/ledger/buy.ts', '../pricing/index.ts', './store.ts'],
  ['src/domains/pricing/rules.ts', '../customers/rules.ts', '../../core/money.ts'],
  ['src/domains/customers/buy.ts', '../pricing/index.ts', '../ledger/index.ts'],
  ['src/domains/orders/buy.ts', '../stock/index.ts', '../events/index.ts'],
  ['src/domains/stock/buy.ts', '../traffic/index.ts', '../customers/index.ts'],
  ['src/domains/fleet/buy.ts', '../stock/index.ts', '../customers/index.ts'],
  ['src/domains/stock/buy.ts', '../dedicated/index.ts', '../fleet/index.ts'],
  ['src/domains/dedicated/buy.ts', '../premium/index.ts', '../stock/index.ts'],
  ['src/domains/vpn/rules.ts', '../dedicated/rules.ts', '../orders/rules.ts'],
  ['src/node-protocol/state.ts', '../domains/fleet/rules.ts', '../core/ids.ts'],
  ['src/node-protocol/state.ts', '../api/fields.ts', 'zod'],
  ['src/api/customer/orders/shapes.ts', '../../../domains/orders/index.ts', '../../../domains/orders/rules.ts'],
  ['src/api/customer/orders/shapes-list.ts', './routes.ts', './shapes.ts'],
  ['src/api/customer/orders/fields.ts', '../../../db/open.ts', '@hono/zod-openapi'],
  ['src/api/operation.ts', './http.ts', './fields.ts'],
  ['src/api/customer/orders/routes.ts', '../../../domains/orders/store.ts', '../../../domains/orders/index.ts'],
  ['src/api/customer/orders/routes.ts', '../../../db/transaction.ts', './shapes.ts'],
  ['src/domains/premium/subusers/rules.ts', './store.ts', '../access/rules.ts'],
  ['src/domains/premium/subusers/rules.ts', '../buy.ts', '../errors.ts'],
  ['src/domains/premium/subusers/rules.ts', '../../traffic/index.ts', '../../traffic/accounts/rules.ts'],
  ['src/domains/premium/subusers/store.ts', '../access/buy.ts', '../access/store.ts'],
  ['src/domains/premium/subusers/store.ts', '../../traffic/accounts/store.ts', '../../../db/rows.ts'],
  ['src/domains/premium/subusers/buy.ts', '../../traffic/accounts/store.ts', '../../traffic/accounts/rules.ts'],
  ['src/domains/premium/subusers/buy.ts', '../../traffic/accounts/buy.ts', '../../traffic/index.ts'],
  ['src/domains/premium/subusers/buy.ts', '../../vpn/rules.ts', '../access/store.ts'],
  ['src/domains/traffic/accounts/buy.ts', '../../premium/subusers/rules.ts', '../leases/rules.ts'],
  ['src/domains/premium/subusers/errors.ts', './rules.ts', '../../../core/refusal.ts'],
  ['src/domains/vpn/nodes.ts', '../../api/operation.ts', '../../node-protocol/state.ts'],
  ['src/domains/vpn/nodes.ts', '../fleet/store.ts', '../fleet/index.ts'],
  ['src/domains/vpn/nodes.ts', '../dedicated/nodes.ts', './store-nodes.ts'],
  ['src/domains/vpn/buy.ts', '../../node-protocol/state.ts', './nodes.ts'],
  ['src/domains/vpn/rules.ts', './nodes.ts', './rules-states.ts'],
  ['src/api/node/http.ts', '../../domains/vpn/nodes.ts', '../../domains/vpn/index.ts'],
  [
    'src/api/customer/premium/routes.ts',
    '../../../domains/premium/subusers/buy.ts',
    '../../../domains/premium/subusers/rules.ts',
  ],
  [
    'src/api/customer/premium/shapes.ts',
    '../../../domains/premium/subusers/store.ts',
    '../../../domains/premium/subusers/rules.ts',
  ],
  ['src/api/http.ts', '../jobs/expire.ts', 'hono/body-limit'],
  ['src/api/http.ts', '../dataplane/agent/sync.ts', '../core/refusal.ts'],
  ['src/jobs/expire.ts', '../cli/verify.ts', '../domains/orders/index.ts'],
  ['src/cli/verify.ts', '../api/http.ts', '../api/operation.ts'],
  ['src/cli/verify.ts', '../db/open.ts', '../api/admin/nodes/shapes.ts'],
  ['src/adapters/mail.ts', '../domains/orders/index.ts', '../domains/orders/ports.ts'],
  ['src/dataplane/agent/sync.ts', '../../api/operation.ts', '../../node-protocol/state.ts'],
  ['src/dataplane/agent/sync.ts', '../../domains/fleet/rules.ts', '../gateway/dial/dial.ts'],
  ['src/dataplane/gateway/ways-in/socks5/handshake.ts', '../../access/policy.ts', '../http1/head.ts'],
  ['src/dataplane/gateway/ways-in/socks5/handshake.ts', 'node:net', '../../../../core/address.ts'],
  ['src/dataplane/gateway/access/policy.ts', '../engines/shared/engine.ts', '../metering/allowance.ts'],
  ['src/dataplane/gateway/access/policy.ts', '../dial/resolve.ts', '../../agent/snapshot.ts'],
  ['src/dataplane/gateway/dial/dial.ts', '../engines/portable/dialler.ts', '../access/policy.ts'],
  ['src/dataplane/gateway/dial/resolve.ts', 'bun', 'node:dns/promises'],
  ['src/dataplane/gateway/metering/tunnel-meter.ts', '../engines/shared/sockets.ts', '../../agent/data-path.ts'],
  ['src/dataplane/gateway/metering/tunnel-meter.ts', '../access/admission.ts', './allowance.ts'],
  ['src/dataplane/gateway/engines/shared/engine.ts', '../../../../domains/fleet/rules.ts', '../../dial/dial.ts'],
  ['src/app/turnpike.ts', '../../test/harness/scale.ts', '../domains/orders/store.ts'],
  ['src/api/http.ts', '../app/settings/config.ts', './status.ts'],
  ['src/api/http.ts', '../verdict.ts', './status.ts'],
  ['src/console/customer/api.ts', '../../api/operation.ts', '../client/customer.ts'],
  ['src/console/customer/api.ts', '../../core/money.ts', '../shared/format.ts'],
  ['src/console/customer/api.ts', '../operator/api.ts', './messages.ts'],
  ['src/console/operator/api.ts', '../customer/api.ts', '../shared/queries.ts'],
  ['src/console/shared/app.tsx', '../customer/api.ts', '../customer/index.tsx'],
  ['src/console/client/call.ts', 'hono', 'react'],
  ['src/console/client/customer.ts', '../../api/operation.ts', '../../api/operation-tables.ts'],
  ['src/console/customer/api.ts', '../../api/operation-tables.ts', '../client/call.ts'],
  ['src/cli/verify.ts', 'bun:sqlite', 'node:fs'],
  ['src/app/settings/config.ts', 'bun:sqlite', 'bun'],
]

describe('checkImports', () => {
  for (const [path, forbidden, allowed] of rows) {
    test(`checkImports refuses ${forbidden} in ${path}`, () => {
      expect(broken(path, importing(forbidden))).toEqual(['import-law'])
      expect(broken(path, importing(forbidden).replace('import', 'import type'))).toEqual(['import-law'])
      if (allowed !== undefined) expect(broken(path, importing(allowed))).toEqual([])
    })
  }

  test('checkImports lets only the relay and engines folders of a gateway open sockets', () => {
    const text = 'const socket = await Bun.connect({})'
    for (const folder of ['ways-in', 'access', 'dial', 'metering']) {
      expect(broken(`src/dataplane/gateway/${folder}/dial.ts`, text)).toEqual(['import-law'])
    }
    expect(broken('src/dataplane/gateway/engines/portable/dialler.ts', text)).toEqual([])
  })

  test('findImports finds 8 forms of import and ignores comments and strings', () => {
    const text = [
      `import a, { b } from './a.ts'`,
      `import {\n  type C,\n} from "./c.ts"`,
      `import './d.ts'`,
      `export * from './e.ts'`,
      `export type { F } from './f.ts'`,
      `const g = await import('./g.ts')`,
      `const h = require('./h.ts')`,
      `type I = import('./i.ts').I`,
      `// import x from './prose.ts'`,
      `const z = "import x from './prose.ts'"`,
    ].join('\n')
    const letters = findImports('src/a.ts', text).map((each) => each.specifier)
    expect(letters).toEqual('acdefghi'.split('').map((letter) => `./${letter}.ts`))
    expect(findImports('src/a.ts', text)[1]?.line).toBe(4)
  })

  test('checkImports refuses Bun in src/core and a database driver outside src/db', () => {
    expect(broken('src/core/ids.ts', 'export const a = Bun.hash("x")')).toEqual(['import-law'])
    expect(broken('src/core/ids.ts', '// Bun runs this.\nexport const a = 1')).toEqual([])
    expect(broken('src/cli/verify.ts', `const db = new Bun.SQL('x')`)).toEqual(['driver'])
    expect(broken('src/app/shop/shop.ts', `import { SQL } from 'bun'`)).toEqual(['driver'])
    expect(broken('src/app/shop/shop.ts', `import { serve } from 'bun'`)).toEqual([])
    expect(broken('src/db/open.ts', `import { SQL } from 'bun'`)).toEqual([])
  })

  test('checkImports refuses an import with a computed name', () => {
    expect(broken('src/api/http.ts', 'await import(name)')).toEqual(['import-law'])
    expect(broken('src/api/http.ts', `await import('./status.ts')`)).toEqual([])
  })

  test('checkImports refuses a folder or a domain that the import rules do not list', () => {
    expect(broken('src/extras/a.ts', '')).toEqual(['import-law'])
    expect(broken('src/domains/gossip/rules.ts', '')).toEqual(['import-law'])
    expect(broken('src/domains/premium/subusers/index.ts', '')).toEqual(['import-law'])
    expect(broken('src/domains/premium/subusers/limits/rules.ts', '')).toEqual(['import-law'])
    expect(broken('src/domains/premium/subusers/rules.ts', '')).toEqual([])
  })

  test('checkImports lets tests import every module', () => {
    expect(broken('src/core/money.test.ts', importing('../app/turnpike.ts'))).toEqual([])
    expect(broken('test/journeys/buy.ts', importing('../../src/domains/orders/store.ts'))).toEqual([])
  })
})
