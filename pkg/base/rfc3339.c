/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Times as text. The calendar is the proleptic Gregorian one; days are counted from years that
 * begin in March, so that the leap day is the last one and needs no case of its own.
 */
#include "base/rfc3339.h"

#include "base/clock.h"
#include "base/macros.h"

#define SECONDS_PER_DAY 86400
#define DAYS_PER_ERA    146097 /* 400 years, after which the calendar repeats */
#define DAYS_TO_1970    719468 /* from 0000-03-01 */

struct date {
	int64_t year;
	int64_t month, day; /* from 1 */
};

static int64_t days_from_date(struct date date)
{
	int64_t year = date.month <= 2 ? date.year - 1 : date.year;
	int64_t era = (year >= 0 ? year : year - 399) / 400;
	int64_t year_of_era = year - era * 400;
	int64_t day_of_year = (153 * ((date.month + 9) % 12) + 2) / 5 + date.day - 1;
	int64_t day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;

	return era * DAYS_PER_ERA + day_of_era - DAYS_TO_1970;
}

static struct date date_from_days(int64_t days)
{
	int64_t shifted = days + DAYS_TO_1970;
	int64_t era = (shifted >= 0 ? shifted : shifted - (DAYS_PER_ERA - 1)) / DAYS_PER_ERA;
	int64_t day_of_era = shifted - era * DAYS_PER_ERA;
	int64_t year_of_era =
		(day_of_era - day_of_era / 1460 + day_of_era / 36524 - day_of_era / 146096) / 365;
	int64_t day_of_year =
		day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
	int64_t month = (5 * day_of_year + 2) / 153; /* 0 is March */
	struct date date = {
		.year = year_of_era + era * 400,
		.month = month < 10 ? month + 3 : month - 9,
		.day = day_of_year - (153 * month + 2) / 5 + 1,
	};

	if (date.month <= 2)
		date.year++;
	return date;
}

static int64_t days_of_month(struct date date)
{
	static const unsigned char days[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
	bool leap = date.year % 4 == 0 && (date.year % 100 != 0 || date.year % 400 == 0);

	return date.month == 2 && leap ? 29 : days[date.month - 1];
}

/* Takes @n digits from the front of @text. */
static bool take_number(struct str *text, size_t n, int64_t max, int64_t *ret_number)
{
	int64_t number = 0;
	size_t i;

	if (text->len < n)
		return false;
	for (i = 0; i < n; i++) {
		if (text->data[i] < '0' || text->data[i] > '9')
			return false;
		number = number * 10 + (text->data[i] - '0');
	}
	*text = str_skip(*text, n);
	*ret_number = number;
	return number <= max;
}

static bool take_char(struct str *text, char c)
{
	if (text->len == 0 || text->data[0] != c)
		return false;
	*text = str_skip(*text, 1);
	return true;
}

static bool take_date(struct str *text, int64_t *ret_days)
{
	struct date date;

	if (!take_number(text, 4, 9999, &date.year) || !take_char(text, '-') ||
	    !take_number(text, 2, 12, &date.month) || !take_char(text, '-') ||
	    !take_number(text, 2, 31, &date.day))
		return false;
	if (date.month < 1 || date.day < 1 || date.day > days_of_month(date))
		return false;
	*ret_days = days_from_date(date);
	return true;
}

static bool take_clock(struct str *text, int64_t *ret_seconds)
{
	int64_t hour, minute, second;

	if (!take_number(text, 2, 23, &hour) || !take_char(text, ':') ||
	    !take_number(text, 2, 59, &minute) || !take_char(text, ':') ||
	    !take_number(text, 2, 59, &second))
		return false;
	*ret_seconds = (hour * 60 + minute) * 60 + second;
	return true;
}

/* Where a point follows, at least one digit must. */
static bool take_fraction(struct str *text, int64_t *ret_us)
{
	int64_t unit = USEC_PER_SEC / 10, us = 0, digit;
	size_t n;

	*ret_us = 0;
	if (!take_char(text, '.'))
		return true;
	for (n = 0; take_number(text, 1, 9, &digit); n++) {
		us += digit * unit;
		unit /= 10;
	}
	*ret_us = us;
	return n > 0;
}

static bool take_offset(struct str *text, int64_t *ret_seconds)
{
	int64_t hour, minute, sign;

	*ret_seconds = 0;
	if (take_char(text, 'Z'))
		return true;
	sign = take_char(text, '+') ? 1 : -1;
	if (sign < 0 && !take_char(text, '-'))
		return false;
	if (!take_number(text, 2, 23, &hour) || !take_char(text, ':') ||
	    !take_number(text, 2, 59, &minute))
		return false;
	*ret_seconds = sign * (hour * 60 + minute) * 60;
	return true;
}

bool time_parse(struct str text, int64_t *ret_real_us)
{
	int64_t days, seconds, us, offset, real_us;

	if (!take_date(&text, &days) || !take_char(&text, 'T') || !take_clock(&text, &seconds) ||
	    !take_fraction(&text, &us) || !take_offset(&text, &offset) || text.len > 0)
		return false;
	real_us = (days * SECONDS_PER_DAY + seconds - offset) * USEC_PER_SEC + us;
	if (real_us < TIME_REAL_MIN || real_us > TIME_REAL_MAX)
		return false; /* an offset led out of the years that can be written */
	*ret_real_us = real_us;
	return true;
}

/* Writes @number with @n digits and returns what follows them. */
static char *put_number(char *at, int64_t number, size_t n)
{
	size_t i;

	for (i = n; i > 0; i--) {
		at[i - 1] = (char)('0' + number % 10);
		number /= 10;
	}
	return at + n;
}

static char *put_char(char *at, char c)
{
	*at = c;
	return at + 1;
}

size_t time_format(int64_t real_us, bool micro, char ret_text[TIME_TEXT_SIZE])
{
	/* From the range's begin all is positive, so that division rounds towards the past. */
	int64_t us = MAX(TIME_REAL_MIN, MIN(real_us, TIME_REAL_MAX)) - TIME_REAL_MIN;
	int64_t seconds = us / USEC_PER_SEC;
	int64_t days = seconds / SECONDS_PER_DAY, clock = seconds % SECONDS_PER_DAY;
	struct date date = date_from_days(days + TIME_REAL_MIN / USEC_PER_SEC / SECONDS_PER_DAY);
	char *at = ret_text;

	at = put_char(put_number(at, date.year, 4), '-');
	at = put_char(put_number(at, date.month, 2), '-');
	at = put_char(put_number(at, date.day, 2), 'T');
	at = put_char(put_number(at, clock / 3600, 2), ':');
	at = put_char(put_number(at, clock / 60 % 60, 2), ':');
	at = put_number(at, clock % 60, 2);
	if (micro)
		at = put_number(put_char(at, '.'), us % USEC_PER_SEC, 6);
	at = put_char(at, 'Z');
	*at = '\0';
	return (size_t)(at - ret_text);
}
