import type { ComponentProps } from 'react'
import { Reading } from '../../shared/parts.tsx'
import { useRead } from '../api.ts'
import { Steps } from '../how-to.tsx'

type GeneratedProps = Omit<ComponentProps<typeof Steps>, 'of'> & { readonly pool: string }

/** Instructions with the host, port, login and password of a rotating proxy. */
export function Generated({ pool: pool_type, ...chosen }: GeneratedProps) {
  const format = '{host} {port} {login} {password}'
  const { scheme: protocol } = chosen
  const body = { pool_type, type: 'rotating', quantity: 1, format, protocol } as const
  return (
    <Reading of={useRead('generateProxies', { body })}>
      {({ proxies, browser_host: browserHost }) => {
        const [named = '', port = '', login = '', password = ''] = proxies[0]?.split(' ') ?? []
        const at = { host: named.replace(/^\[|\]$/g, ''), port: Number(port) }
        const tls = protocol === 'https' ? { ...at, browserHost } : undefined
        return <Steps of={{ ...at, login, password, protocol: 'both', tls }} {...chosen} />
      }}
    </Reading>
  )
}
