//! The `value!` macro.

/// Makes a [`Value`](crate::Value) from something that looks like JSON.
///
/// ```
/// use jaren_json::value;
///
/// let name = "x";
/// let built = value!({"a": [1, null, true, -2.5], "b": name, (name): {"c": [name.len() == 1]}});
/// assert_eq!(built.to_string(), r#"{"a":[1,null,true,-2.5],"b":"x","x":{"c":[true]}}"#);
/// ```
///
/// An expression stands for whatever its type's `Into<Value>` makes of it. Of equal names the last one counts.
#[macro_export]
macro_rules! value {
    (null) => { $crate::Value::Null };
    ([ $($inner:tt)* ]) => { $crate::Value::Array($crate::__value_elements!([] $($inner)*)) };
    ({ $($inner:tt)* }) => {{
        #[allow(unused_mut, reason = "an object without members changes nothing")]
        let mut members = $crate::ObjectBuilder::new();
        $crate::__value_members!(members $($inner)*);
        $crate::Value::Object(members.build())
    }};
    ($other:expr) => { $crate::Value::from($other) };
}

#[doc(hidden)]
#[macro_export]
macro_rules! __value_elements {
    ([ $($done:expr),* ]) => { $crate::Array::from(::std::vec::Vec::<$crate::Value>::from([ $($done),* ])) };
    ([ $($done:expr),* ] null $(, $($rest:tt)*)?) => {
        $crate::__value_elements!([ $($done,)* $crate::Value::Null ] $($($rest)*)?)
    };
    ([ $($done:expr),* ] [ $($inner:tt)* ] $(, $($rest:tt)*)?) => {
        $crate::__value_elements!([ $($done,)* $crate::value!([ $($inner)* ]) ] $($($rest)*)?)
    };
    ([ $($done:expr),* ] { $($inner:tt)* } $(, $($rest:tt)*)?) => {
        $crate::__value_elements!([ $($done,)* $crate::value!({ $($inner)* }) ] $($($rest)*)?)
    };
    ([ $($done:expr),* ] $next:expr $(, $($rest:tt)*)?) => {
        $crate::__value_elements!([ $($done,)* $crate::value!($next) ] $($($rest)*)?)
    };
}

#[doc(hidden)]
#[macro_export]
macro_rules! __value_members {
    ($members:ident) => {};
    ($members:ident ($name:expr) : $($rest:tt)*) => { $crate::__value_member!($members ($name) $($rest)*) };
    ($members:ident $name:literal : $($rest:tt)*) => { $crate::__value_member!($members ($name) $($rest)*) };
}

#[doc(hidden)]
#[macro_export]
macro_rules! __value_member {
    ($members:ident ($name:expr) null $(, $($rest:tt)*)?) => {
        $members.insert($name, $crate::Value::Null);
        $crate::__value_members!($members $($($rest)*)?);
    };
    ($members:ident ($name:expr) [ $($inner:tt)* ] $(, $($rest:tt)*)?) => {
        $members.insert($name, $crate::value!([ $($inner)* ]));
        $crate::__value_members!($members $($($rest)*)?);
    };
    ($members:ident ($name:expr) { $($inner:tt)* } $(, $($rest:tt)*)?) => {
        $members.insert($name, $crate::value!({ $($inner)* }));
        $crate::__value_members!($members $($($rest)*)?);
    };
    ($members:ident ($name:expr) $value:expr $(, $($rest:tt)*)?) => {
        $members.insert($name, $crate::Value::from($value));
        $crate::__value_members!($members $($($rest)*)?);
    };
}
