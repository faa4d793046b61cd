import { messages, names, pair, useMessages } from './messages.tsx'

export const deliveryMessages = messages({
  problems: names({
    answer: pair('refused by the address', 'адрес не принял'),
    timeout: pair('no answer in time', 'нет ответа вовремя'),
    connection: pair('no connection', 'нет соединения'),
    tls: pair('TLS failed: check the certificate', 'ошибка TLS: проверьте сертификат'),
    name: pair('the name does not resolve', 'имя не найдено в DNS'),
    address: pair('the address is not public', 'адрес не публичный'),
    port: pair('the port is not allowed', 'порт не разрешён'),
    scheme: pair('the address is not https', 'адрес не https'),
    url: pair('the address is not valid', 'адрес неверен'),
    mail: pair('the mail server did not take it', 'почтовый сервер не принял письмо'),
    forgotten: pair('the event is older than 30 days', 'событие старше 30 дней'),
    removed: pair('the address was removed before', 'адрес удалён раньше'),
  }),
})

/** Puts the problem of a delivery into words; a problem of a newer shop is shown as it is. */
export function useDeliveryProblems(): (problem: string | null) => string | null {
  const { t } = useMessages(deliveryMessages)
  return (problem) => (problem === null ? null : (t.problems[problem] ?? problem))
}
