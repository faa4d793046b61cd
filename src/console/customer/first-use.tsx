import { messages, pair, useMessages } from '../shared/messages.tsx'
import { Status } from '../shared/parts.tsx'

const firstUseMessages = messages({
  waiting: pair('Waiting for the first connection', 'Ждём первого подключения'),
  connected: pair('Connected: it works', 'Подключение есть: всё работает'),
})

/** Whether a new service was used already. The page that shows it reads the service again every few seconds. */
export function FirstUse({ isUsed }: { readonly isUsed: boolean }) {
  const { t } = useMessages(firstUseMessages)
  return (
    <div role="status" className={isUsed ? 'first-use' : 'first-use waits'}>
      <Status tone={isUsed ? 'good' : 'warn'}>{isUsed ? t.connected : t.waiting}</Status>
    </div>
  )
}
