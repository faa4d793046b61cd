/** Words of the page by their English form. Text of openapi.json is English and stays as it is. */
const russian = {
  'Skip to the operations': 'К операциям',
  'API token': 'Токен API',
  'Used only on this page and not stored.': 'Используется только на этой странице и не сохраняется.',
  Operations: 'Операции',
  'Search operations': 'Поиск операций',
  '{} found': 'Найдено: {}',
  'Loading the description…': 'Описание загружается…',
  'The API description is not available': 'Описание API недоступно',
  'The description at {} could not be loaded: {}.': 'Не удалось загрузить описание {}: {}.',
  'the server answered {}': 'сервер ответил {}',
  'Try again': 'Повторить',
  Address: 'Адрес',
  Token: 'Токен',
  'Login grammar': 'Как устроен логин',
  Refusals: 'Отказы',
  Events: 'События',
  'openapi.json, for programs': 'openapi.json для программ',
  'Example of a refusal': 'Пример отказа',
  'Fields of a refusal': 'Поля отказа',
  'Format of refusals': 'Формат отказов',
  Parameters: 'Параметры',
  Body: 'Тело запроса',
  'Answer {}': 'Ответ {}',
  Status: 'Статус',
  Code: 'Код',
  Meaning: 'Значение',
  'Try it': 'Попробовать',
  'Try {}': 'Попробовать {}',
  Send: 'Отправить',
  'The request as a curl command': 'Запрос в виде команды curl',
  'Example answer': 'Пример ответа',
  'The answer': 'Ответ',
  'Waiting for the answer…': 'Ожидание ответа…',
  'Enter your token at the top of the page first. ': 'Сначала введите токен вверху страницы. ',
  'This sends a real request, which may charge your balance.':
    'Будет отправлен настоящий запрос: он может списать деньги с баланса.',
  'This operation cannot be undone. Enter the ids to apply it to; you confirm before it is sent.':
    'Операция необратима. Укажите id, к которым её применить; перед отправкой потребуется подтверждение.',
  '{} cannot be undone. Send it?': '{} — необратимая операция. Отправить?',
  'No answer within {} seconds. The request may have been processed: send it again with the same key.':
    'Нет ответа за {} с. Запрос мог быть выполнен: отправьте его ещё раз с тем же ключом.',
  'The request could not be sent: {}. Check the connection, and the token for invalid characters.':
    'Не удалось отправить запрос: {}. Проверьте соединение и убедитесь, что в токене нет лишних символов.',
  'not given': 'не указано',
  'e.g. {}': 'например, {}',
  'New key': 'Новый ключ',
  Copy: 'Копировать',
  Copied: 'Скопировано',
  Selected: 'Выделено',
  required: 'обязательно',
  'may be absent': 'может отсутствовать',
  'in {}': 'в {}',
  path: 'пути',
  query: 'строке запроса',
  header: 'заголовке',
  'any other name': 'любое другое имя',
  'either ': 'либо ',
  'or ': 'или ',
  'Same fields as above.': 'Те же поля, что и выше.',
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
