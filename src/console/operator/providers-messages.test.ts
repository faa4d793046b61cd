import { expect, test } from 'bun:test'
import { providerKinds } from '../../adapters/payments/kinds.ts'
import { providersMessages } from './providers-messages.ts'

test('every payment provider has a name in each language, and each of its settings a Russian text', () => {
  const names = providerKinds.map((kind) => kind.name).toSorted()
  for (const texts of Object.values(providersMessages)) expect(Object.keys(texts.names).toSorted()).toEqual(names)
  const settings = new Set(providerKinds.flatMap((kind) => kind.settings.map((each) => each.name)))
  expect(Object.keys(providersMessages.ru.settings).toSorted()).toEqual([...settings].toSorted())
})
