import type { Words } from '../shared/language.tsx'
import { coveredNames } from './findings-ru.ts'

const en = {
  verifyAbout: 'Recomputes every promise on the live database: money, addresses, bytes, the audit log.',
  runVerify: 'Verify now',
  running: (part: string) => `Looking at: ${part}`,
  verifyGood: 'Every promise holds',
  verifyBad: (count: string) => `${count} findings`,
  neverVerified: 'Not verified since the shop was started',
  neverVerifiedAbout: 'It reads everything and changes nothing.',
  promise: 'Promise',
  where: 'Where',
  problem: 'Problem',
  advice: 'What to do',
  covered: 'What was looked at',
  coveredNames: {} as Readonly<Record<string, string>>,
}
const ru: typeof en = {
  verifyAbout: 'Пересчитывает каждое обещание на живой базе: деньги, адреса, байты, журнал.',
  runVerify: 'Сверить сейчас',
  running: (part) => `Проверяется: ${part}`,
  verifyGood: 'Все обещания выполняются',
  verifyBad: (count) => `Находок: ${count}`,
  neverVerified: 'С запуска магазина не сверялось',
  neverVerifiedAbout: 'Читает всё и не меняет ничего.',
  promise: 'Обещание',
  where: 'Где',
  problem: 'Что не так',
  advice: 'Что делать',
  covered: 'Что проверено',
  coveredNames,
}
export const verifyWords: Words<typeof en> = { en, ru }
