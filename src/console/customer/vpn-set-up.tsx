import { Button, Text } from '@mantine/core'
import type { VpnDevice, VpnSubscription } from '../client/customer.ts'
import { download, toPicture } from '../shared/browser.ts'
import { Copyable, Listing } from '../shared/copy.tsx'
import { messages, pair, useMessages } from '../shared/messages.tsx'
import { Facts, Reading } from '../shared/parts.tsx'
import { QrCode } from '../shared/qr.tsx'
import { useRead } from './api.ts'
import { FirstUse } from './first-use.tsx'

const setUpMessages = messages({
  apps: pair(
    'Choose your app on the page of the link: it imports the link by a button, and has a QR code for another device.',
    'Выберите приложение на странице ссылки: кнопка добавит в него ссылку; там же QR-код для другого устройства.',
  ),
  link: pair('Link of this device', 'Ссылка этого устройства'),
  openPage: pair('Choose an app', 'Выбрать приложение'),
  linkQr: pair('QR code of the link', 'QR-код ссылки'),
  qr: pair('QR code of the configuration', 'QR-код конфигурации'),
  orWireGuard: pair('Or in the WireGuard app', 'Или в приложении WireGuard'),
  scan: pair(
    'Scan the QR code in the WireGuard app, or import the file.',
    'Отсканируйте QR-код в приложении WireGuard или импортируйте файл.',
  ),
  file: pair('Download the file', 'Скачать файл'),
  ownKey: pair(
    'The private key of this device is not stored in the shop. Insert it into the configuration yourself.',
    'Закрытый ключ этого устройства не хранится в магазине. Впишите его в конфигурацию сами.',
  ),
})

type SetUpProps = { readonly of: VpnSubscription; readonly device: VpnDevice }

/** How to connect a device: by the link where a gateway serves it, by a file where a WireGuard node does. */
export function SetUp({ of: { uuid, subscription_url: link }, device }: SetUpProps) {
  const { t } = useMessages(setUpMessages)
  const isForApps = link !== null && device.protocols.some((each) => each !== 'wireguard')
  const isForWireGuard = device.protocols.includes('wireguard') || !isForApps
  return (
    <div className="stack">
      <div>
        <FirstUse isUsed={device.last_handshake_at !== null} />
      </div>
      {isForApps && <AppsSetUp link={`${link}?device=${device.id}`} />}
      {isForApps && isForWireGuard && (
        <Text fw={600} mt="md">
          {t.orWireGuard}
        </Text>
      )}
      {isForWireGuard && <WireGuardSetUp uuid={uuid} device={device} />}
    </div>
  )
}

function AppsSetUp({ link }: { readonly link: string }) {
  const { t } = useMessages(setUpMessages)
  return (
    <div className="stack">
      <Text>{t.apps}</Text>
      <div className="line">
        <Button component="a" href={link} target="_blank" rel="noreferrer">
          {t.openPage}
        </Button>
      </div>
      <Facts of={[[t.link, <Copyable key="link" text={link} label={t.link} />]]} />
      <div className="not-on-phone">
        <QrCode text={link} label={t.linkQr} />
      </div>
    </div>
  )
}

function WireGuardSetUp({ uuid, device }: { readonly uuid: string; readonly device: VpnDevice }) {
  const { t } = useMessages(setUpMessages)
  const query = { uuid, device: device.id }
  const file = useRead('getVpnConfig', { query: { ...query, format: 'conf' } })
  return (
    <div className="stack">
      <Text ta="center">{device.own_key ? t.ownKey : t.scan}</Text>
      <Reading of={useRead('getVpnConfig', { query: { ...query, format: 'svg' } })} height={240}>
        {({ config }) => <img className="qr" src={toPicture(config)} alt={t.qr} width="240" height="240" />}
      </Reading>
      <Reading of={file}>
        {({ config }) => (
          <>
            <div className="line">
              <Button onClick={() => download(toFileName(device.name), config)}>{t.file}</Button>
            </div>
            <Listing text={config} label={device.name} />
          </>
        )}
      </Reading>
    </div>
  )
}

/** A file name for every system. WireGuard names the tunnel after it, with at most 15 characters. */
const toFileName = (name: string): string =>
  `${name.replace(/[^A-Za-z0-9_=+.-]+/g, '').slice(0, 15) || 'turnpike'}.conf`
