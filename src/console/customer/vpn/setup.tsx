import { Button, Text } from '@mantine/core'
import type { VpnDevice } from '../../client/customer.ts'
import { Listing } from '../../shared/copy.tsx'
import { download } from '../../shared/download.ts'
import { useWords } from '../../shared/language.tsx'
import { Reading } from '../../shared/parts.tsx'
import { toPicture } from '../../shared/picture.ts'
import { useRead } from '../api.ts'
import { vpnWords } from './words.ts'

/** A file name that every system takes. WireGuard makes the tunnel's name of it: fifteen characters at most. */
const toFileName = (name: string): string =>
  `${name.replace(/[^A-Za-z0-9_=+.-]+/g, '').slice(0, 15) || 'turnpike'}.conf`

/** How a device is set up: a code for a phone, a file for a computer. */
export function Setup({ uuid, device }: { readonly uuid: string; readonly device: VpnDevice }) {
  const words = useWords(vpnWords)
  const query = { uuid, device: device.id }
  const picture = useRead('getVpnConfig', { query: { ...query, format: 'svg' } })
  const file = useRead('getVpnConfig', { query: { ...query, format: 'conf' } })
  return (
    <div className="stack">
      <Text ta="center">{device.own_key ? words.ownKey : words.scan}</Text>
      <Reading of={picture} height={240}>
        {({ config }) => <img className="qr" src={toPicture(config)} alt={words.qr} width="240" height="240" />}
      </Reading>
      <Reading of={file}>
        {({ config }) => (
          <>
            <div className="line">
              <Button onClick={() => download(toFileName(device.name), config)}>{words.file}</Button>
            </div>
            <Listing text={config} label={device.name} />
          </>
        )}
      </Reading>
    </div>
  )
}
