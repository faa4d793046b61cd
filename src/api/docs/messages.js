/** Words of the page by their English form. Text of openapi.json is English and stays as it is. */
const russian = {
  'Skip to the operations': 'К операциям',
  'API token': 'API-токен',
  'Stays on this page. Never stored.': 'Остаётся на этой странице и не сохраняется.',
  Operations: 'Операции',
  'Search operations': 'Поиск операций',
  '{} found': 'Найдено: {}',
  'Loading the description…': 'Описание загружается…',
  'Nothing to show yet': 'Пока показать нечего',
  'The description at {} could not be loaded: {}.': 'Не удалось загрузить описание {}: {}.',
  'the server answered {}': 'сервер ответил {}',
  'Try again': 'Повторить',
  Address: 'Адрес',
  Token: 'Токен',
  'Login grammar': 'Как устроен логин',
  Refusals: 'Отказы',
  Events: 'События',
  'openapi.json, for programs': 'openapi.json для программ',
  'An example of a refusal': 'Пример отказа',
  'Its fields': 'Его поля',
  'Every refusal has this shape': 'Так выглядит каждый отказ',
  Parameters: 'Параметры',
  Body: 'Тело запроса',
  'Answer {}': 'Ответ {}',
  Status: 'Статус',
  Code: 'Код',
  Meaning: 'Значение',
  'Try it': 'Проверить',
  'Try {}': 'Проверить {}',
  Send: 'Отправить',
  'The same as a curl command': 'То же командой curl',
  'Example answer': 'Пример ответа',
  'The answer': 'Ответ',
  'Waiting for the answer…': 'Ожидание ответа…',
  'Put your token at the top first. ': 'Сначала укажите токен вверху страницы. ',
  'A real request: it may charge your balance.': 'Это настоящий запрос: он может списать деньги с баланса.',
  'It takes something away for good: fill in what it is for. You are asked before it is sent.':
    'Это необратимо: укажите, к чему применить. Перед отправкой будет вопрос.',
  '{} takes something away for good. Send it?': '{} — необратимая операция. Отправить?',
  'No answer within {} seconds. It may still have had its effect: send it again with the same key.':
    'Нет ответа за {} с. Запрос мог быть выполнен: отправьте его ещё раз с тем же ключом.',
  'It could not be sent: {}. Check the connection, and the token for stray characters.':
    'Отправить не удалось: {}. Проверьте соединение и нет ли в токене лишних символов.',
  'not given': 'не указано',
  'e.g. {}': 'например, {}',
  'New key': 'Новый ключ',
  Copy: 'Копировать',
  Copied: 'Скопировано',
  Selected: 'Выделено',
  required: 'обязательно',
  'may be absent': 'может отсутствовать',
  'in {}': 'в {}',
  'any further name': 'любое другое имя',
  'either ': 'либо ',
  'or ': 'или ',
  'Nested as above.': 'Вложено так же, как выше.',
  'one of ': 'одно из ',
  'always ': 'всегда ',
  'matches ': 'соответствует ',
  'default ': 'по умолчанию ',
  'example ': 'пример ',
  '{} to {}': 'от {} до {}',
  'at least {}': 'не меньше {}',
  'at most {}': 'не больше {}',
  'more than {}': 'больше {}',
  'less than {}': 'меньше {}',
  'a multiple of {}': 'кратно {}',
  'characters: {}': 'символов: {}',
  'items: {}': 'элементов: {}',
}

/** The language chosen in the console, else the first of the browser's that the page has. */
function findLanguage() {
  const wanted = [findChosen(), ...navigator.languages].map((each) => each?.slice(0, 2))
  return wanted.find((each) => each === 'en' || each === 'ru') ?? 'en'
}

/** A browser that blocks storage throws. */
function findChosen() {
  try {
    return localStorage.getItem('turnpike.language')
  } catch {
    return undefined
  }
}

document.documentElement.lang = findLanguage()

/** A message in the language of the page, with each {} replaced by the next value. */
export function say(english, ...values) {
  const message = document.documentElement.lang === 'ru' ? (russian[english] ?? english) : english
  return message.replaceAll('{}', () => values.shift())
}
