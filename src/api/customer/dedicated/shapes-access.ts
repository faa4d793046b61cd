import { z } from '@hono/zod-openapi'
import { Refusal } from '../../../core/refusal.ts'
import { passwordsRefused, text, whole } from '../../fields.ts'
import { operation } from '../../operation.ts'
import { bodyIds, exampleProxy, noSuchProxy, proxy, proxyExample, queryIds, see, tag } from './shapes-proxy.ts'

const ip = () =>
  z
    .string()
    .max(64, 'must be an address')
    .openapi({ description: 'An IPv4 or IPv6 address that somebody comes from.', example: '198.51.100.4' })

const changed = z.object({
  ip: text('The address, as it was sent.', '198.51.100.4'),
  proxies: z.array(proxy).openapi({ description: 'The proxies, as they now are.' }),
})

const whitelisted = { ...proxyExample, whitelist: ['198.51.100.4'], whitelist_port: 20_417 }

export const allowSource = operation({
  id: 'allowSource',
  method: 'POST',
  path: '/dedicated/whitelist/add',
  tag,
  summary: 'Let an address use proxies without a password',
  description:
    'For browsers and programs that send none: connect to `ip` at `whitelist_port`, which stands for this one proxy, ' +
    'so two customers behind one address are told apart. Up to 10 addresses a proxy; the password goes on to work.',
  body: z.object({ ids: bodyIds(), ip: ip() }),
  exampleBody: { ids: [exampleProxy], ip: '198.51.100.4' },
  answer: changed,
  example: { ip: '198.51.100.4', proxies: [whitelisted] },
  see,
  codes: ['not_found', 'conflict', 'out_of_stock'],
  refusals: {
    not_found: noSuchProxy,
    conflict: new Refusal('whitelist_limit', { most: 10 }, { limit: 10, ids: [exampleProxy] }),
    out_of_stock: new Refusal('no_port_free', {}, { available: 0 }),
  },
})

export const disallowSource = operation({
  id: 'disallowSource',
  method: 'POST',
  path: '/dedicated/whitelist/remove',
  isDestructive: true,
  tag,
  summary: 'Ask an address for the password again',
  description: 'Its open tunnels end. Without any address left a proxy has no `whitelist_port`.',
  body: z.object({ ids: bodyIds(), ip: ip() }),
  exampleBody: { ids: [exampleProxy], ip: '198.51.100.4' },
  answer: changed,
  example: { ip: '198.51.100.4', proxies: [proxyExample] },
  see,
  codes: ['not_found'],
  refusals: { not_found: noSuchProxy },
})

export const resetPasswords = operation({
  id: 'resetPasswords',
  method: 'POST',
  path: '/dedicated/password/reset',
  isDestructive: true,
  tag,
  summary: 'Give proxies new passwords',
  description: 'Whoever is in by the old one is cut off within two seconds. User names stay.',
  body: z.object({ ids: bodyIds() }),
  exampleBody: { ids: [exampleProxy] },
  answer: z.object({
    proxies: z.array(proxy).openapi({ description: 'The proxies with their new passwords.' }),
  }),
  example: { proxies: [proxyExample] },
  see,
  codes: ['not_found'],
  refusals: { not_found: noSuchProxy },
})

export const exportDedicated = operation({
  id: 'exportDedicated',
  method: 'GET',
  path: '/dedicated/export',
  isSecret: true,
  tag,
  summary: 'Your proxies as a file',
  description:
    'All that are in use, newest first, or those of `ids`; at most 10000. `txt` has a line for each, in one of the ' +
    'four formats of `generate` or by a template; `csv` has a header; `json` is as `list` shows them. A line ' +
    'without a login is for whitelisted addresses and has the `whitelist_port`. Without the scope `passwords`, ' +
    'lines with a password are refused, and `csv` and `json` have none.',
  query: z.object({
    format: z.enum(['txt', 'csv', 'json']).default('txt').openapi({ description: 'What to write.' }),
    format_id: z
      .enum(['1', '2', '3', '4'])
      .optional()
      .openapi({
        type: 'integer',
        enum: [1, 2, 3, 4],
        default: 1,
        description:
          '1 host:port:login:password, 2 login:password@host:port, 3 host:port for whitelisted addresses, ' +
          '4 protocol://login:password@host:port. Only with `txt`.',
        example: 2,
      }),
    template: z.string().optional().openapi({
      description: 'A line of your own out of {host}, {port}, {login}, {password} and {protocol}. Only with `txt`.',
      example: '{login}:{password}@{host}:{port}',
    }),
    ids: queryIds().optional(),
  }),
  answer: z.object({
    proxies: z.array(proxy).openapi({ description: 'Your proxies.' }),
    count: whole('How many there are.', 1),
  }),
  example: { proxies: [proxyExample], count: 1 },
  files: ['text/plain', 'text/csv'],
  see,
  codes: ['not_found', 'conflict'],
  refusals: {
    ...passwordsRefused,
    not_found: noSuchProxy,
    conflict: new Refusal('whitelist_empty', {}, { ids: [exampleProxy] }),
  },
})
