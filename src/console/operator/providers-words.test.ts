import { expect, test } from 'bun:test'
import { providerKinds } from '../../adapters/payments/kinds.ts'
import { providersWords } from './providers-words.ts'

test('every provider has a name, and every setting of one its line in Russian', () => {
  const names = providerKinds.map((kind) => kind.name).toSorted()
  for (const words of Object.values(providersWords)) expect(Object.keys(words.names).toSorted()).toEqual(names)
  const settings = new Set(providerKinds.flatMap((kind) => kind.settings.map((each) => each.name)))
  expect(Object.keys(providersWords.ru.settings).toSorted()).toEqual([...settings].toSorted())
})
